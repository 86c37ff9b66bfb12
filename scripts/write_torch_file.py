"""Write tests/saving/pytorch.pt by PyTorch: a few of all values that its files and minifp have.

    python scripts/write_torch_file.py      # needs PyTorch: pip install -e ".[parity]"

`values` makes them by either library, and `told` tells them in Python's own values, so that those
of one can be compared with those of the other, as it does then.
"""

import argparse
import tempfile
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "tests" / "saving" / "pytorch.pt"
DTYPES = "float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2 int64 int32 int16 int8 uint8"


def values(library):
    """What both have: `library` is torch or minifp."""
    is_minifp = library.__name__ == "minifp"
    x, format = library.arange(12).float().reshape(3, 4), {"dtype": "float16"} if is_minifp else {}
    dtypes = [name if is_minifp else getattr(library, name) for name in (*DTYPES.split(), "uint16")]
    weight = library.nn.Parameter(library.ones(2))
    frozen = library.nn.Parameter(x.half(), requires_grad=False, **format)
    views = [x, x[1:, ::2], x.T, x[:1].expand(5, 4), x > 5, library.zeros(0, 3), library.ones(2)[0]]
    return {
        "tensors": [*views, *(library.arange(3).to(dtype) for dtype in dtypes)],
        "parameters": [weight, weight, frozen],
        "leaf": x[0].clone().requires_grad_(),
        "plain": [None, True, -1, 2**70, 0.1, "é", b"\xff", bytearray(b"a"), (1, (2.5,)), {1, "b"}],
        "size": x.shape,
        "dtype": library.float16,
    }


def told(value):
    """A value of either library in Python's own, with what kind it is."""
    kind = type(value).__name__
    if hasattr(value, "requires_grad"):
        numbers = value.detach().double().tolist()
        return kind, told(value.dtype), tuple(value.shape), value.requires_grad, numbers
    if kind in ("dict", "list", "tuple"):
        return kind, *map(told, value.items() if kind == "dict" else value)
    return kind, str(value).removeprefix("torch.") if kind == "dtype" else value


def compare(torch, path):
    """Write what both have, and weights of models, by one and read them by the other, through a
    file. Raises AssertionError where they are not the same bits."""
    import minifp as fp

    fp.save(values(fp), path)
    for mmap in (False, True):
        held = torch.load(path, weights_only=True, mmap=mmap)
        assert told(held) == told(values(torch))
        whole, _, transposed, *_ = held["tensors"]
        assert whole.data_ptr() == transposed.data_ptr()
    for model in (fp.models.LeNet(), fp.nn.LSTM(3, 4, 2), fp.nn.Linear(2, 2).bfloat16()):
        model.tied = next(model.parameters())
        state = torch.load(fp.save(model.state_dict(), path), weights_only=True)
        assert state["tied"].data_ptr() in [t.data_ptr() for t in [*state.values()][:-1]]
        torch.save(state, path)
        assert told(fp.load(path)) == told(model.state_dict())
        fp.load(path, model)


def main():
    """Write the file, and compare."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    import torch

    torch.save(values(torch), FILE)
    with tempfile.TemporaryDirectory() as folder:
        compare(torch, Path(folder) / "x.pt")


if __name__ == "__main__":
    main()
