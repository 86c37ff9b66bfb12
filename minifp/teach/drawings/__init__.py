"""Pictures of lessons that are too long for a cell, a file for each lesson: numbers come in, a
figure of matplotlib goes out, which `teach.show` displays."""
