"""scripts/mixed_precision_in_one_file.py, and its page: a second writing, which tests the first."""

import ast
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from loading import script

import minifp as fp
import minifp.nn.functional as F
from minifp import nn, optim
from minifp.models import CharLSTM, LeNet
from minifp.numerics.policy import by_references, get_precision

FILE = Path(__file__).resolve().parents[2] / "scripts" / "mixed_precision_in_one_file.py"
TEXT, ONE = FILE.read_text("utf-8"), script(FILE.stem)
MIXED, HUGE = ONE.MIXED, 2.0**24


def normalised():
    """LeNet with a batch normalisation behind its first convolution."""
    first = nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)
    second = nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    return nn.Sequential(*first, *second, nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))


def batches(data, size, steps):
    """So many of the training set."""
    (x, t), _ = data()
    rows = [np.random.default_rng(k).choice(len(x), size, replace=False) for k in range(steps)]
    return [(x[i], t[i]) for i in rows]


# A run: the network in minifp and there, data, batch size and steps, both precisions, and settings.
DIGITS, TEXTS = (ONE.digits, 32), (lambda: ONE.shakespeare(16), 16)
LENET, LSTM = (lambda: LeNet(size=8), ONE.lenet), (lambda: CharLSTM(65, hidden=64), ONE.charlstm)
NORMED = normalised, lambda x, w, b, *p: ONE.lenet(x, w, b, *p[2:], *p[:2])  # in minifp's order
RUNS = {
    "LeNet": (LENET, DIGITS, 50, "mixed", MIXED, {"lr": 5e-3}),
    "CharLSTM": (LSTM, TEXTS, 50, "mixed", MIXED, {"lr": 5e-3, "clip": 0.25}),
    "batch norm, skipped steps": (
        *(NORMED, DIGITS, 20, f"mixed,loss_scale=dynamic+init_scale={HUGE}+growth_interval=7"),
        *(replace(MIXED, loss_scale=HUGE), {"rule": "sgd", "lr": 0.1}),
    ),
    "static scale, no masters": (
        *(NORMED, DIGITS, 10, "mixed,loss_scale=128,master_weights=off"),
        *(replace(MIXED, loss_scale=128.0, adapts=False, masters=False), {"dial": 9}),
    ),
    "float16 sums": (
        *(LSTM, (lambda: ONE.shakespeare(6), 4), 3, "mixed,accumulate=float16,reduce=float16"),
        *(replace(MIXED, sums="float16"), {}),
    ),
}


RULES = {"adam": optim.Adam, "sgd": lambda p, lr: optim.SGD(p, lr, momentum=0.9)}


def in_minifp(model, steps, rule="adam", lr=1e-3, clip=None, dial=0):
    """What parameters began as, and (the losses, what they became, the loss scale)."""
    p = [*model.parameters()]
    began = [((w.numpy() if w.exact is None else w.exact).copy(), w.dtype.name) for w in p]
    optimizer, losses = fp.MixedOptimizer(RULES[rule](p, lr=lr), clip_norm=clip, dial=dial), []
    for x, t in steps:
        losses.append(F.cross_entropy(model(fp.tensor(x)), fp.tensor(t)))
        optimizer.minimize(losses[-1])
    return began, ([x.item() for x in losses], [w.numpy().tobytes() for w in p], optimizer.scale)


def in_one_file(network, began, steps, rule="adam", **settings):
    """The same three there, from the same beginning."""
    p = [ONE.parameter(*pair) for pair in began]
    optimizer, losses = ONE.MixedOptimizer(p, getattr(ONE, rule), **settings), []
    for x, t in steps:
        losses.append(ONE.cross_entropy(network(x, *p), t))
        optimizer.minimize(losses[-1])
    return [float(x.array) for x in losses], [w.array.tobytes() for w in p], optimizer.scale


@pytest.mark.parametrize("run", RUNS)
def test_it_computes_the_bits_of_minifp_without_compiled_kernels(run, monkeypatch):
    (make, network), (data, size), count, text, precision, settings = RUNS[run]
    steps = batches(data, size, count)
    with fp.precision(text), fp.precision(by_references(get_precision())):
        began, results = in_minifp(make(), steps, **settings)
    monkeypatch.setattr(ONE, "precision", precision)
    monkeypatch.setattr(ONE.MixedOptimizer, "interval", 7 if "growth" in text else 2000)
    with np.errstate(all="ignore"):
        assert in_one_file(network, began, steps, **settings) == results
    if precision.loss_scale == HUGE:
        assert results[-1] < HUGE  # some steps were skipped, and then it grew


def test_its_other_layers_have_the_bits_of_minifp():
    x = np.random.default_rng(0).normal(size=1000).astype("float16")
    for here, there in ((F.tanh, ONE.tanh), (F.sigmoid, ONE.sigmoid)):
        with fp.precision("mixed"), fp.precision(by_references(get_precision())):
            a = fp.tensor(x, requires_grad=True)
            y = here(a)
            y.backward(gradient=x)
        y_there = there(ONE.Tensor(x))
        (dx,) = ONE.tape.pop()[2](x)
        assert a.dtype == "float16" and (y.numpy() == y_there.array).all()
        assert (a.grad.numpy() == ONE.store(dx)).all()


def test_it_is_short_and_has_no_line_of_minifp():
    nodes = [*ast.walk(ast.parse(TEXT))]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    imports = [n for n in nodes if isinstance(n, ast.Import | ast.ImportFrom)]
    names = {a.name for n in imports for a in n.names} | {getattr(n, "module", "") for n in imports}
    assert len(TEXT.splitlines()) <= 400 and not any(name.startswith("minifp") for name in names)
    assert max(f.end_lineno - f.lineno + 1 for f in functions) < 25


def test_its_page_walks_through_its_parts_and_names_what_is_there():
    page = (FILE.parents[1] / "docs" / "one-file.md").read_text("utf-8")
    parts = re.findall(r"^# ---- (\d+\. .*?) -+$", TEXT, re.M)
    assert re.findall(r"^## (\d+\. .*)$", page, re.M) == parts and len(parts) == 10
    links = re.findall(r"\]\(\.\./([\w/.]+)\)", page)
    assert len(links) > 20 and all((FILE.parents[1] / link).exists() for link in links)
    assert len(re.findall(r"^\*\*\d+\. .*\?\*\*", page, re.M)) == 10


@pytest.mark.nightly
@pytest.mark.slow
def test_each_technique_shows_where_its_row_says():
    done = subprocess.run([sys.executable, FILE], capture_output=True, text=True, check=True)
    rows = re.findall(r"^(.{40}) +([\d.]+) .*% +([\d.]+) .*% +(\S+) .*%$", done.stdout, re.M)
    shown = [r for r in rows if r[0].startswith("  ") or ", S = " in r[0] or "SGD" in r[0]]
    assert len(rows) == len(ONE.ROWS) and len(shown) == 7
    for said, single, mixed, without in shown:
        assert "SGD" in said or abs(float(single) - float(mixed)) < 0.1, said  # at 10: chance
        assert not float(without) < float(mixed) + 0.02, said
