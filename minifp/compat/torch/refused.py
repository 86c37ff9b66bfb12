"""What is said of a name of PyTorch's that is not there: why, and what to use instead."""

from functools import partial
from typing import Any

from minifp.compat.unknown_names import INSTEAD, PLACES, advice
from minifp.errors import UnknownNameError

NO_COMPLEX = "numbers here are real"
ONE = "training runs in one process, on one device"
MODULES = {  # by the path of a module, and of all below: why nothing is there
    "torch.distributed": ONE,
    "torch.multiprocessing": "training runs in one process",
    "torch.utils.data.distributed": ONE,
    "torch.fft": f"{NO_COMPLEX}; NumPy's np.fft of x.numpy(), without gradients",
    "torch.linalg": "np.linalg of x.numpy(), without gradients",
    "torch.sparse": "there are no sparse tensors: x.to_dense() where the data is made",
    "torch.onnx": "save the state_dict with torch.save, and export it with PyTorch",
    "torch.func": "there are no gradients of gradients; write a batch as another axis in front",
    "torch.autograd.functional": "there are no gradients of gradients",
    "torch.quantization": "a precision such as --precision float8",
    "torch.profiler": "--microscope OUT",
    "torch.hub": "nothing is downloaded: load weights from a file",
    "torch.utils.model_zoo": "nothing is downloaded: load weights from a file",
    "torch.utils.cpp_extension": "an operation of your own: docs/operations.md",
    "torchvision.io": "PIL.Image.open, and transforms.ToTensor",
    "torchvision.models.detection": "minifp.models has SSD300 and FasterRCNN",
    "torchvision.models.segmentation": "there is no such model: write its modules",
    "torchvision.tv_tensors": "pictures are tensors, or Pillow's",
}
OTHERS = {  # packages that are made for PyTorch itself: what to use instead
    "torchaudio": "minifp.data.read_wav, or scipy.signal",
    "torchtext": "minifp.data.TextDataset, WordDataset and BytePairs",
}
WHY = MODULES | {  # and by the beginning of a name
    "torch.nn.parallel.DistributedDataParallel": ONE,
    "torch.stft": f"{NO_COMPLEX}; scipy.signal of x.numpy(), without gradients",
    "torch.distributions": "dir(torch.distributions) lists those that are there",
    "torch.complex": f"{NO_COMPLEX}: two tensors, the real and the imaginary part",
    "torchvision.datasets": "ImageFolder, or a Dataset of your own that returns a picture and its "
    "class",
    "torchvision.models": "a model of minifp.models, or modules of your own; weights are not "
    "downloaded: load_state_dict(torch.load(path))",
    "torchvision.ops": "those on boxes are there; of others, write their modules",
    "torchvision.transforms": "transforms.Lambda of a function of your own, which Pillow may help",
    "torchvision.utils": "there are make_grid and save_image; Pillow's ImageDraw draws",
}
WRITTEN = {  # how names of a path are written in minifp's own advice
    **{f"torch.{own.removeprefix('fp.')}".rstrip("."): own for own in PLACES if own[:3] == "fp."},
    **{"torch": "fp.", "torch.nn": "nn.", "torch.nn.functional": "F.", "torch.optim": "optim."},
    **{f"torch.{own}"[:-1]: own for own in PLACES if own[:2] in ("nn", "op") and own[-2] != "m"},
    "torch.utils.data": "fp.data.",
}


class Refused(type):
    """The class of what stands for a name that was imported and is not there, as scripts import
    names that they do not use. To call it, or to take an attribute of it, raises UnknownNameError.
    """

    why = ""

    def __call__(cls, *args: Any, **settings: Any) -> Any:
        raise UnknownNameError(partial(str, cls.why))

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnknownNameError(partial(str, cls.why))


def stand_in(path: str, name: str) -> Any:
    """What an import gets for a name that is refused on purpose; None for any other name."""
    if why_not(f"{path}.{name}") is None and name not in INSTEAD:
        return None
    return Refused(name, (), {"why": reason(path, name), "__module__": path})


def why_not(whole: str) -> str | None:
    """Why nothing is there under a dotted name; None where that is not said."""
    starts = [start for start in WHY if f"{whole}.".startswith((f"{start}.", f"{start}_"))]
    return WHY[max(starts, key=len)] if starts else None


def reason(path: str, name: str) -> str:
    """The message for a name asked for at a path."""
    whole = f"{path}.{name}"
    why = why_not(whole)
    if why is not None:
        return f"minifp has no {whole}: {why}"
    own = WRITTEN.get(path)
    if own is None:
        instead = INSTEAD.get(name)
        return f"minifp has no {whole}" + (f"; instead: {instead}" if instead else "")
    return f"minifp has no {whole}; {advice(own, name)}"
