"""Statistics of rows or channels, and what is made of them."""
