"""What all commands share: how they are found, refused and ended, and the options of several."""
