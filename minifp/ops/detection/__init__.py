"""Boxes in pictures: how they overlap, which are kept, and what features lie inside of them."""
