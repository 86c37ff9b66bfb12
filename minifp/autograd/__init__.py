"""The tape, operations that are recorded on it, and the gradients that come back along it."""
