"""Numbers moved, chosen or joined; none computed."""
