"""Calls that are refused, in a line each."""

import pytest


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
