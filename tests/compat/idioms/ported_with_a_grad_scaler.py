"""PyTorch's recipe of mixed precision with the names changed, and a device that is asked for."""

import minifp as fp
from minifp import GradScaler, autocast

has_gpu, device = False, "cpu"
try:
    has_gpu = fp.cuda.is_available()
except AttributeError as error:
    assert "minifp doctor" in str(error)
try:
    device = fp.device("cuda" if has_gpu else "cpu")
except AttributeError as error:
    assert 'a text, "cpu" or "cuda"' in str(error)

fp.manual_seed(0)
model = fp.nn.Sequential(fp.nn.Linear(8, 16), fp.nn.ReLU(), fp.nn.Linear(16, 4))
optimizer = fp.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler = GradScaler(device, init_scale=2.0**60)
inputs, targets = fp.randn(32, 8), fp.randint(0, 4, (32,))
losses, skipped = [], 0

for _ in range(80):
    optimizer.zero_grad(set_to_none=True)
    with autocast(device_type=device, dtype=fp.float16):
        output = model(inputs)
        loss = fp.nn.functional.cross_entropy(output, targets)
    assert output.dtype == fp.float16 and loss.dtype == fp.float32
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    fp.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scale = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    skipped += scaler.get_scale() < scale
    losses.append(loss.item())

assert 40 <= skipped < 60 and losses[0] == losses[10] and losses[-1] < 0.8 * losses[0]
