"""torch.backends: switches of libraries that are not used here."""
