"""Modules made of modules, and such whose weights are computed of others."""

X = (2, 3, 6, 6)
LAYERS = {
    "Sequential": (
        lambda m: m.Sequential(m.Linear(5, 4), m.Tanh(), m.Sequential(m.Linear(4, 2))),
        (3, 5),
    ),
    "spectral_norm": (lambda m: m.utils.spectral_norm(m.ConvTranspose2d(3, 4, 3)), X),
    "new weight_norm": (lambda m: m.utils.parametrizations.weight_norm(m.Conv2d(3, 4, 3)), X),
    "new spectral_norm": (lambda m: m.utils.parametrizations.spectral_norm(m.Conv2d(3, 4, 3)), X),
}
