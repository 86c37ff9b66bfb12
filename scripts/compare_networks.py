"""Networks that were written for PyTorch, beside PyTorch: the same weights, inputs and draws.

Each row of a table of networks (repository, commit, path, model, inputs) says where one is defined,
the expression that builds it and those of its inputs. Both are evaluated among the names of that
file; `randn(2, 3)` and `ints(10, 2)` are the same numbers in both, and so is what a network draws.
First with a Python that has PyTorch, which writes weights and results to a folder; then with
minifp's, which compares (add MINIFP_AUTO_MIXED_PRECISION=1 for mixed precision):

    python scripts/compare_networks.py networks.csv REPOSITORY CHECKOUT FOLDER
"""

import argparse
import csv
import importlib
import json
import pickle
import random
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np

try:
    import torch
except ImportError:
    from minifp.run import install

    install()
    import torch

IS_MINIFP = "minifp" in torch.__version__
LIMIT = 150  # seconds for one network
FLOOR = 1e-3  # of the largest number of a kind: differences are relative to at least this


class Draws:
    """What networks draw, from NumPy: the same numbers in both."""

    def __init__(self):
        self.generator = np.random.default_rng(1)

    def tensor(self, values, dtype=None):
        """An array as a tensor, rounded to float32, by default of that dtype."""
        values = values.astype(np.float32) if values.dtype.kind == "f" else values
        return torch.tensor(values).to(dtype or torch.float32)

    def shaped(self, draw):
        """A function that takes a shape as torch.randn does."""

        def function(*shape, dtype=None, size=None, device=None, **settings):
            shape = size if size is not None else shape
            shape = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
            return self.tensor(draw(tuple(shape)), dtype)

        return function

    def like(self, draw):
        """A function that takes a tensor as torch.randn_like does."""
        return lambda x, dtype=None, **settings: self.tensor(draw(tuple(x.shape)), dtype or x.dtype)

    def randint(self, low, high=None, size=None, dtype=None, **settings):
        """As torch.randint(low, high, size) and torch.randint(high, size)."""
        if size is None:
            low, high, size = 0, low, high
        low, high = (0, low) if high is None else (low, high)
        return self.tensor(self.generator.integers(low, high, tuple(size)), dtype or torch.int64)

    def install(self):
        """Let torch draw from here, and seed Python's and NumPy's own."""
        normal, uniform = self.generator.standard_normal, self.generator.random
        torch.randn, torch.randn_like = self.shaped(normal), self.like(normal)
        torch.rand, torch.rand_like = self.shaped(uniform), self.like(uniform)
        torch.randint = self.randint
        torch.randperm = lambda n, **s: self.tensor(self.generator.permutation(n), torch.int64)
        torch.bernoulli = lambda p, *a, **s: (self.like(uniform)(p) < p).to(p.dtype)
        torch.Tensor.uniform_ = lambda x, a=0, b=1, **s: x.data.copy_(
            a + (b - a) * self.like(uniform)(x)
        )
        torch.Tensor.bernoulli_ = lambda x, p=0.5, **s: x.copy_(
            (self.like(uniform)(x) < p).to(x.dtype)
        )
        torch.nn.functional.dropout = lambda x, *a, **s: x
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002 (networks draw from it)


def flat(value):
    """The tensors of floats in a network's output, however they are nested."""
    if isinstance(value, torch.Tensor):
        return [value] if value.dtype.is_floating_point else []
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        value = getattr(value, "__dict__", {}).values()
    return [tensor for part in value for tensor in flat(part)]


def as_dtype(value, dtype):
    """Inputs with their floats in a dtype."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.dtype.is_floating_point else value
    if isinstance(value, (list, tuple)):
        return type(value)(as_dtype(part, dtype) for part in value)
    return value


def array(tensor):
    """A tensor's numbers."""
    return np.array(tensor.detach().numpy())


class Network:
    """One row, in one of both: its module, its inputs, and what it computes."""

    def __init__(self, row):
        name = row["path"].removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        self.names = {**vars(importlib.import_module(name))}
        draws = np.random.default_rng(2)
        self.names |= {
            "torch": torch,
            "Namespace": SimpleNamespace,
            "randn": lambda *s: torch.tensor(draws.standard_normal(s).astype(np.float32)),
            "ints": lambda high, *s: torch.tensor(draws.integers(1, high, s)),
            "together": lambda *args, **settings: (args, settings),
        }
        Draws().install()
        torch.manual_seed(0)
        self.model = eval(row["model"], self.names)
        self.inputs = eval(f"together({row['inputs']})", self.names)
        for module in self.model.modules():
            for setting in ("p", "dropout"):
                if isinstance(getattr(module, setting, None), float):
                    setattr(module, setting, 0.0)

    def weights(self):
        """Its state as arrays, those of equal numbers (ones, zeros) with noise added."""
        draws = np.random.default_rng(3)
        trained, state = dict(self.model.named_parameters()), {}
        for name, tensor in self.model.state_dict().items():
            state[name] = value = array(tensor)
            if name in trained and value.size > 1 and np.ptp(value) == 0:
                state[name] = value + 0.1 * draws.standard_normal(value.shape).astype(value.dtype)
        return state

    def run(self, weights, dtype):
        """Outputs in training and in evaluation, gradients, buffers afterwards, seconds."""
        kind = getattr(torch, dtype)
        self.model.to(kind)
        self.model.load_state_dict({k: torch.tensor(v) for k, v in weights.items()})
        args, settings = as_dtype(self.inputs[0], kind), self.inputs[1]
        settings = {k: as_dtype(v, kind) for k, v in settings.items()}
        Draws().install()
        self.model.train()
        self.model.zero_grad()
        begin = time.process_time()
        outputs = flat(self.model(*args, **settings))
        draws, loss = np.random.default_rng(4), 0
        for output in outputs:
            if output.requires_grad:
                target = draws.standard_normal(tuple(output.shape)).astype(np.float32)
                loss = loss + ((output - torch.tensor(target).to(output.dtype)) ** 2).mean()
        loss.backward()
        seconds = time.process_time() - begin
        results = {f"output {i}": array(output) for i, output in enumerate(outputs)}
        for name, parameter in self.model.named_parameters():
            if parameter.grad is not None:
                results[f"gradient {name}"] = array(parameter.grad)
        results |= {f"buffer {k}": array(v) for k, v in self.model.named_buffers()}
        self.model.eval()
        with torch.no_grad():
            for i, output in enumerate(flat(self.model(*args, **settings))):
                results[f"evaluated {i}"] = array(output)
        return results, seconds


def difference(ours, theirs):
    """The largest difference of two results, relative to the largest number of each tensor, or to
    FLOOR of the largest of its kind. Raises ValueError where they have other names or shapes."""
    if ours.keys() != theirs.keys():
        raise ValueError(f"other results: {sorted(ours.keys() ^ theirs.keys())[:4]}")
    most, largest = {}, {}
    for name, value in theirs.items():
        kind = name.partition(" ")[0]
        top = float(np.abs(value).max(initial=0))
        largest[kind] = max(largest.get(kind, 0.0), top if np.isfinite(top) else 0.0)
    for name, value in theirs.items():
        kind, mine = name.partition(" ")[0], ours[name]
        if mine.shape != value.shape:
            raise ValueError(f"{name}: {mine.shape}, expected {value.shape}")
        gap = np.abs(mine.astype(np.float64) - value.astype(np.float64))
        gap = np.where((mine == value) | (np.isnan(mine) & np.isnan(value)), 0.0, gap)
        scale = max(float(np.abs(value).max(initial=0)), FLOOR * largest[kind], 1e-300)
        worst = float(gap.max(initial=0)) / scale
        most[kind] = max(most.get(kind, 0.0), np.inf if np.isnan(worst) else worst)
    return most


def compared(network, record):
    """The differences of a network from PyTorch's record, as columns."""
    told, exact = {}, record["float64"] or record["float32"]
    ours, seconds = network.run(record["weights"], "float32")
    told["seconds"], told["seconds_pytorch"] = round(seconds, 3), round(record["seconds"], 3)
    columns = {"float32": (ours, exact), "pytorch_float32": (record["float32"], exact)}
    if record["float64"] is not None and not network.is_mixed:
        columns["float64"] = network.run(record["weights"], "float64")[0], exact
    for column, (mine, reference) in columns.items():
        for kind, gap in difference(mine, reference).items():
            told[f"{column} {kind}"] = float(f"{gap:.2g}")
    return told


def stopped(error):
    """What stopped a network, in a line, with the last line of the network's own file."""
    own = [f for f in traceback.extract_tb(error.__traceback__) if "minifp" not in f.filename]
    at = f" at {Path(own[-1].filename).name}:{own[-1].lineno}: {own[-1].line}" if own else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}{at}"


def recorded(network):
    """What minifp is compared with."""
    weights = network.weights()
    results, seconds = network.run(weights, "float32")
    try:
        exact = network.run(weights, "float64")[0]
    except RuntimeError:  # where a network makes float32 itself
        exact = None
    return {"weights": weights, "float32": results, "float64": exact, "seconds": seconds}


def one(row, file, is_mixed):
    """Record or compare one network: a dictionary with its outcome."""
    if IS_MINIFP and not file.exists():
        return {"outcome": "stops with PyTorch too"}
    try:
        signal.alarm(LIMIT)
        network = Network(row)
        network.is_mixed = is_mixed
        if IS_MINIFP:
            record = pickle.loads(file.read_bytes())
            return {"outcome": "ran", **compared(network, record)}
        file.write_bytes(pickle.dumps(recorded(network)))
        return {"outcome": "ran"}
    except (Exception, SystemExit) as error:
        return {"outcome": stopped(error)}
    finally:
        signal.alarm(0)


def late(*args):
    """Raises TimeoutError."""
    raise TimeoutError(f"more than {LIMIT} seconds")


def main():
    """Print a line of JSON for each network of a repository."""
    kind = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=kind)
    parser.add_argument("table", type=Path)
    parser.add_argument("repository")
    parser.add_argument("checkout", type=Path, help="the repository's files")
    parser.add_argument("folder", type=Path, help="for what PyTorch computes")
    parser.add_argument("--only", default="", help="networks whose path or model has this in it")
    parser.add_argument("--mixed", action="store_true", help="say that precision is mixed")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, late)
    asked.folder.mkdir(parents=True, exist_ok=True)
    with asked.table.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["repository"] == asked.repository]
    for number, row in enumerate(rows):
        if asked.only not in f"{row['path']} {row['model']}":
            continue
        folder = (asked.checkout / row["path"]).parent
        sys.path[:0] = [str(asked.checkout), str(folder)]
        file = asked.folder / f"{asked.repository.replace('/', '+')} {number}.pickle"
        outcome = one(row, file, asked.mixed)
        del sys.path[:2]
        named = {k: row[k] for k in ("repository", "path", "model")}
        print(json.dumps(named | outcome), flush=True)


if __name__ == "__main__":
    main()
