"""A checkpoint saved "into" a folder, as other libraries' save_pretrained does."""
# raises: ArgumentError: is a folder

import os

import minifp as fp
from minifp import nn

os.makedirs("checkpoints/last")
fp.save("checkpoints/last", nn.Linear(2, 2))
