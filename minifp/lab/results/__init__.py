"""What comes out of a comparison: the files of its folder."""
