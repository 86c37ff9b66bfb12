"""PyTorch's own file format (.pt): a zip of a pickle and of the bytes of each storage."""
