"""What scripts/build_site.py is made of."""
