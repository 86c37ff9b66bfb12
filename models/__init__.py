"""Architectures, one a file, which minifp/models imports as `minifp.models`; never as `models`."""

import sys
from pathlib import Path

# A checkout that is installed in place is on the path, where a folder of the user's own with this
# name may come first, and is one to import from: then that is what was meant.
_folders = [Path(folder, "models").resolve() for folder in sys.path]
__path__ = [str(f) for f in _folders if f.is_dir() and f != Path(__file__).resolve().parent]
if not __path__:
    raise ImportError(
        f"this folder was imported as {__name__!r}, but its name is minifp.models: write "
        "`from minifp.models import LeNet`"
    )
