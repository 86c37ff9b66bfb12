"""The best checkpoint is private, and "latest" is a link to it: both stay so at every save."""

import os
import stat

import minifp as fp
from minifp import nn, optim

model = nn.Linear(4, 2)
optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1))
fp.save("runs/step-100.safetensors", model, optimizer, extra={"step": 100})
with open("runs/step-100.safetensors.part", "w", encoding="utf-8") as notes:
    notes.write("mine")
if os.name != "nt":
    os.chmod("runs/step-100.safetensors", 0o600)
    os.symlink("step-100.safetensors", "latest")
    os.replace("latest", "runs/latest")
    fp.save("runs/latest", model, optimizer, extra={"step": 200})
    assert os.path.islink("runs/latest")
    assert stat.S_IMODE(os.stat("runs/step-100.safetensors").st_mode) == 0o600
    assert fp.load("runs/step-100.safetensors", model, optimizer) == {"step": 200}
with open("runs/step-100.safetensors.part", encoding="utf-8") as notes:
    assert notes.read() == "mine"
