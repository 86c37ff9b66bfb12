"""Programs to begin one's own from, which `minifp new` copies: each runs as it is, in seconds."""
