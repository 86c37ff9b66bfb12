"""What pages are made of: text, tables, pictures, and a frame that needs no network."""
