"""Programs that write into y, by names and views of it, which NumPy and PyTorch run, too.

y and v are (3, 4), and recorded; in UNRECORDED y is not.
"""

RECORDED = """
y[0] = v[0]
y[-1] = 2.5; y += v
y[1:, ::2] = v[0, :2]
y[y > 0] = v[0, 0]
y[y > 0] *= 3.0; y -= v * y
y[[0, 2]] = v[1]; y[0, 1] = 0.0
y[..., [1, 3]] += v[:, :2]
y[[0, 2], [1, 3]] = v[0, 1:3] * y[1, :2]
y[:] = v[:1]
y[None, 1] *= v[2]; y /= 2.0
z = y; z += v; y *= z
t = y.T; t[1] = v[:, 0]; y[0] *= 2.0; t *= y.T
r = y[1]; y *= v; r -= 1.0
r = y.reshape(-1); r[2:7] *= v[0, 0]; y[1] = r[:4]
y[0][1] += v[0, 0]; y[1][2:] = 3.0
r = y[1:][0]; r[0] = v[2, 2]; r **= 2
y = y[:, 1:]; r = y[None]; r += v[:, :3]; y *= y
y = y.T; y += v.T; r = y[0]; r *= v[2, 1]
for i in range(3): y[i] = y[i - 1] * v[i] + y[i]
""".strip().split("\n")
UNRECORDED = """
y[0] = v[0]; y[1] += v[1]
r = y[2]; r += v[0]; y *= y
r = y.T; r[1] = v[:, 2]; r[0][0] = 1.0
for i in range(3): y[:, i] = v[:, i] * i
""".strip().split("\n")


def run(program, y, v):
    """All that a program leaves beside v."""
    names = {"y": y, "v": v}
    exec(program, {}, names)
    return [names[name] for name in ("y", "z", "t", "r") if name in names]
