"""Modules made of modules."""

LAYERS = {
    "Sequential": (
        lambda m: m.Sequential(m.Linear(5, 4), m.Tanh(), m.Sequential(m.Linear(4, 2))),
        (3, 5),
    )
}
