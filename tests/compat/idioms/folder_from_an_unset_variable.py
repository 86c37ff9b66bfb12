"""The folder of results from the environment, where nobody has set it."""
# raises: ArgumentError: a path is empty

import os

import minifp as fp

out = os.environ.get("A_FOLDER_FOR_RESULTS", "")
fp.compare("mlp", ["float32"], seeds=1, steps=1, out=out, progress=False)
