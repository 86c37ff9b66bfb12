"""Where names of PyTorch's and torchvision's modules are looked up: in a module of minifp/compat/
of the same path, then in minifp's own of the same path, then in those of the path that PLACES
names."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

ROOTS = ("torch", "torchvision")  # whose modules are mirrored
# Paths under which PyTorch has what stands elsewhere too; for those below one, the longest counts.
PLACES = {
    "torch.utils.data": "minifp.data",
    "torchvision.transforms.v2.functional": "torchvision.transforms.functional",
}
FILES = {  # each of these below a path has its names
    "torch": "autograd.grad_mode types random serialization functional _utils",
    "torch.amp": "autocast_mode grad_scaler",
    "torch.autograd": "function variable",
    "torch.cuda.amp": "autocast_mode grad_scaler",
    "torch.nn": "modules parameter",
    "torch.nn.parallel": "data_parallel",
    "torch.nn.utils": "clip_grad weight_norm spectral_norm",
    "torch.optim": "adam adamw sgd optimizer",
    "torch.utils.data": "dataset dataloader sampler _utils.collate",
    "torchvision.datasets": "cifar fakedata folder mnist vision",
    "torchvision.models": "densenet inception mobilenet resnet vgg",
    "torchvision.ops": "boxes",
    "torchvision.transforms": "transforms v2",
}
PLACES |= {f"{path}.{file}": path for path, files in FILES.items() for file in files.split()}
FIRST = {  # where the names of a path are looked up before
    "torch": "minifp.compat.torch.functions",
    "torch.nn.functional": "minifp.compat.torch.nn.composed",
}
FOLDERS = {  # each module below one has the names of another: torch.nn.modules.conv
    "torch.nn.modules": "torch.nn",
    "torch.distributions": "torch.distributions",
}
NOT_PYTORCHS = {"data", "models", "lab", "paddle", "errors", "functional"}
# What minifp has under the same name.
SHARED = {"nn", "optim", "utils", "amp", "cuda", "autograd"}


@cache
def is_module(name: str) -> bool:
    """Whether a module can be imported, without importing more than what it stands in."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # of a package above it
        return False


@cache
def homes(path: str) -> tuple[Any, ...]:
    """The modules in which the names of a path are looked up, in that order; none for a path that
    is not mirrored."""
    root, *below = path.split(".")
    own = [FIRST[path]] if path in FIRST else []
    own.append(f"minifp.compat.{path}")
    if root == "torch" and (not below or below[0] in SHARED):
        own.append(".".join(["minifp", *below]))
    modules = [import_module(name) for name in own if is_module(name)]
    is_class = path.rpartition(".")[2].lstrip("_")[:1].isupper()  # as torch.distributions.Beta
    folders = [to for at, to in FOLDERS.items() if path.startswith(f"{at}.") and not is_class]
    place = PLACES.get(path, "".join(folders))
    if place.startswith("torch"):
        return (*modules, *homes(place))
    return (*modules, *([import_module(place)] if place else []))


def is_of_layers(path: str) -> bool:
    """Whether the names of a path are those of torch.nn."""
    return any(home.__name__ == "minifp.nn" for home in homes(path))
