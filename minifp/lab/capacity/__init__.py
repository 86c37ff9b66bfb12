"""How large a batch may be: the largest whose training step fits a memory, measured."""
