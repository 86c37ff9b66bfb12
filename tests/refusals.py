"""What is refused: a call with its error, a row for each call, or a table as text."""

import builtins
import re

import numpy as np
import pytest
from claims import Claims

import minifp as fp
import minifp.nn.functional as F
from minifp import nn

ROW = re.compile(r"^ *(\S.*?)\s+-> (\w+): (.+)$", re.MULTILINE)
KNOWN = {"fp": fp, "F": F, "nn": nn, "np": np}


def check_refusals(rows, prefix="", names=(), make=fp.tensor, **arrays):
    """Each call raises its error with a message that has the pattern, and changes no tensor.

    The pattern follows `prefix`. A row may go on in the next line with its arrow. arrays: by name,
    what each row has a new tensor of, by `make`. names: others that calls use, with their values.
    """
    table = ROW.findall(rows)
    assert len(table) == rows.count(" -> ")
    with Claims() as claims:
        for call, error, message in table:
            tensors = {name: make(array) for name, array in arrays.items()}
            before = {n: (x.array.tobytes(), x.storage.version) for n, x in tensors.items()}
            raised = None
            try:
                eval(call, {**KNOWN, **dict(names), **tensors})
            except Exception as refusal:
                raised = refusal
            kind = getattr(fp, error, None) or getattr(builtins, error)
            with claims("is refused by its name, and changes nothing", call):
                assert isinstance(raised, kind), f"expected {error}: {raised!r}"
                assert re.search(prefix + message, str(raised)), f"{message!r}: {raised!r}"
                after = {n: (x.array.tobytes(), x.storage.version) for n, x in tensors.items()}
                assert after == before


def refuses(error, words, call, /, *args, **named):
    """The call raises this error, with a message in which `words` (a pattern) are found."""
    with pytest.raises(error, match=words):
        call(*args, **named)


def each_refused(*rows, error=None):
    """A test of each call in turn: (call, error, words), or (call, words) where `error` is all."""

    @pytest.mark.parametrize("call, error, words", [
        row if error is None else (row[0], error, row[1]) for row in rows
    ])  # fmt: skip
    def test(call, error, words):
        refuses(error, words, call)

    return test
