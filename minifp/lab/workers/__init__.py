"""Who trains: this process, several on this machine (`--jobs`), or a cluster's (`--scheduler`)."""
