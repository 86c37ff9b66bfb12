"""Every update rule, made so that all its state is in use: what tests of optimizers range over."""

from functools import partial

from minifp import optim

RULES = {
    **{"SGD": partial(optim.SGD, lr=0.1, momentum=0.9), "Adam": partial(optim.Adam, lr=0.1)},
    **{"AdamW": partial(optim.AdamW, lr=0.1), "AMSGrad": partial(optim.Adam, lr=0.1, amsgrad=True)},
    "NAdam": partial(optim.NAdam, lr=0.1),
    "RAdam": partial(optim.RAdam, lr=0.1, betas=(0.9, 0.95)),
    "RMSprop": partial(optim.RMSprop, lr=0.1, momentum=0.5, centered=True),
    "Adagrad": partial(optim.Adagrad, lr=0.1, lr_decay=0.01),
    **{"Adadelta": partial(optim.Adadelta, lr=0.1), "Adamax": partial(optim.Adamax, lr=0.1)},
    "LAMB": partial(optim.LAMB, lr=0.1),
}
