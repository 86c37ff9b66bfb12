"""The page, the pictures and the table of a comparison."""
