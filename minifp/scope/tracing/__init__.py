"""One step done again: beside a wider precision, kernel by kernel, and as a graph."""
