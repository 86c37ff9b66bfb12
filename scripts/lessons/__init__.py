"""What scripts/write_notebooks.py is made of."""
