"""What a comparison looks like: text tables, pictures, and pages that need no network."""
