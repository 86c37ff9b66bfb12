"""The public names: those that are committed in public_names.txt, no more and no fewer."""

import importlib
from pathlib import Path
from types import FunctionType

import pytest
from loading import script

import minifp as fp
from minifp.ops.public import public

COMMITTED = Path(__file__).with_name("public_names.txt")
MODULES = (
    *("minifp", "minifp.nn", "minifp.nn.functional", "minifp.optim"),
    *("minifp.optim.lr_scheduler", "minifp.data", "minifp.models"),
    *("minifp.autograd", "minifp.compat.amp"),
    *("minifp.compat.paddle", "minifp.compat.paddle.amp", "minifp.compat.paddle.mixed_precision"),
)


def names_of_tensor():
    kinds = property, FunctionType
    own = [n for n, v in vars(fp.Tensor).items() if isinstance(v, kinds)]
    return [n for n in own if not n.startswith("__annotat")]  # Python's own


def names_now():
    places = (*MODULES, "minifp.lab", "minifp.lab.schedules")
    names = {module: importlib.import_module(module).__all__ for module in places}
    names["minifp.Tensor"] = names_of_tensor()
    return [f"{place}.{name}" for place in names for name in sorted(names[place])]


def test_the_public_names_are_those_that_are_committed():
    committed, now = COMMITTED.read_text(encoding="utf-8").split(), names_now()
    assert (sorted({*committed} - {*now}), sorted({*now} - {*committed})) == ([], []), (
        "(missing, new): a name that is gone breaks programs; write one that is meant to be new, "
        f"or gone, into {COMMITTED.name}, and tell of it in CHANGELOG.md"
    )
    assert len(now) == len({*now})


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_there_and_completion_shows_no_other(module):
    public = importlib.import_module(module)
    assert not [name for name in public.__all__ if not hasattr(public, name)]
    assert dir(public) == sorted(public.__all__)


def test_the_listings_are_what_the_operations_declare():
    texts = script("write_listings").texts().items()
    old = [path.name for path, text in texts if path.read_text(encoding="utf-8") != text]
    assert not old, "run python scripts/write_listings.py"


def test_what_cannot_be_declared_is_refused():
    for declared, problem in (
        ({"where": "fp G"}, "where='G': expected one of fp, F, Tensor"),
        ({"operator": "x+y"}, "operator='x.y': expected one of x . y, x - y"),
        ({"autocast": "sums"}, "autocast='sums': expected one of product, recurrence"),
    ):
        with pytest.raises(fp.ArgumentError, match=problem):
            public(**declared)
