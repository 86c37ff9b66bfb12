"""float16 as fp16 scripts of 2018 had it: each parameter's .data replaced by a .half() of itself.

# warns: MisuseWarning: the parameter stays float32
"""

import minifp as fp
from minifp import nn

fp.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
before = model.state_dict()
for param in model.parameters():
    param.data = param.data.half()

# the format is as it was, and so are the numbers; model.half() is what was meant
assert all(p.dtype == fp.float32 for p in model.parameters())
assert all(fp.equal(p.data, before[name]) for name, p in model.named_parameters())
assert model.half()[0].weight.dtype == fp.float16
