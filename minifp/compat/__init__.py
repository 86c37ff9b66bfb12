"""What people write who come from other systems."""
