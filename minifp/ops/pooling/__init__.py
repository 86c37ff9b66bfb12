"""Windows of pictures: pooling, and its opposite, interpolation."""
