"""Modules made of modules."""

LAYERS = {
    "Flatten": (lambda m: m.Flatten(), (3, 4, 2)),
    "Sequential": (
        lambda m: m.Sequential(m.Linear(5, 4), m.Tanh(), m.Sequential(m.Linear(4, 2))),
        (3, 5),
    ),
}
