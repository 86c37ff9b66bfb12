"""A mixed-precision step: loss scale, master weights, skipped steps and why, captured steps."""
