"""The page, the pictures and the text of the microscope."""
