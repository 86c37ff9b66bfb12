"""Contexts: entered twice, inside of themselves, out of order, as decorators, on other threads."""

import asyncio
import threading
import warnings

import pytest
from refusals import refuses
from watching import at_once

import minifp as fp

KINDS = {
    "precision": (lambda: fp.precision("mixed"), lambda: str(fp.get_precision()) == "mixed"),
    "no_grad": (fp.no_grad, lambda: not fp.is_grad_enabled()),
    "inference_mode": (fp.inference_mode, lambda: not fp.is_grad_enabled()),
}
kinds = pytest.mark.parametrize("make, inside", KINDS.values(), ids=KINDS)


@kinds
def test_one_object_is_entered_again_and_inside_of_itself(make, inside):
    context = make()
    for _ in range(2):
        with context:
            assert inside()
            with context:
                assert inside()
            assert inside()
        assert not inside()


@kinds
def test_it_decorates_functions_that_call_themselves(make, inside):
    @make()
    def count(n):
        """Documented."""
        assert inside()
        return n and 1 + count(n - 1)

    assert (count(2), count.__name__, count.__doc__) == (2, "count", "Documented.")
    assert not inside()


@kinds
def test_one_object_on_two_threads_is_two_contexts(make, inside):
    context, barrier, seen = make(), threading.Barrier(2), []

    def enter():
        with context:
            barrier.wait(10)
            seen.append(inside())
        seen.append(not inside())

    at_once(enter, enter)
    assert seen == [True] * 4


def test_what_is_left_out_of_order_ends_and_nothing_else_and_it_is_told_once():
    outer, inner = fp.precision("mixed"), fp.precision("float64")
    for times in (1, 0):
        outer.__enter__()
        inner.__enter__()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            outer.__exit__(None, None, None)
        assert str(fp.get_precision()) == "float64"
        inner.__exit__(None, None, None)
        assert str(fp.get_precision()) == "float32"
        assert [w.category for w in caught] == [fp.MisuseWarning] * times
        assert all(w.filename == __file__ for w in caught)
        for warning in caught:
            assert '"mixed") is left before fp.precision("float64"' in str(warning.message)
    assert not caught


def test_what_is_left_where_it_was_not_entered_changes_nothing():
    def leave():
        with pytest.warns(fp.MisuseWarning, match="where it was not entered"):
            context.__exit__(None, None, None)

    context = fp.precision("mixed")
    with context:
        at_once(leave)
        assert str(fp.get_precision()) == "mixed"


def test_no_grad_decorates_without_parentheses_too():
    for decorator in (fp.no_grad, fp.no_grad()):

        @decorator
        def recorded():
            return fp.is_grad_enabled()

        assert not recorded() and fp.is_grad_enabled()
    with fp.no_grad():
        assert fp.enable_grad(fp.is_grad_enabled)()
    refuses(fp.DTypeError, "expected a function, not False", fp.no_grad, False)


def test_set_grad_enabled_is_a_function_a_context_and_a_decorator_until_a_block_ends():
    fp.set_grad_enabled(False)
    assert not fp.is_grad_enabled()
    fp.set_grad_enabled(True)
    assert fp.is_grad_enabled()
    off = fp.set_grad_enabled(False)
    assert not fp.is_grad_enabled()  # from where it is made, as in PyTorch
    for _ in range(2):
        with off:
            assert not fp.is_grad_enabled()
            with off:
                fp.set_grad_enabled(True)  # until the block ends
                assert fp.is_grad_enabled()
            assert not fp.is_grad_enabled()
        assert fp.is_grad_enabled()

    @fp.set_grad_enabled(False)
    def recorded():
        return fp.is_grad_enabled()

    assert fp.is_grad_enabled()  # it was made to decorate
    assert not recorded() and fp.is_grad_enabled()
    with fp.no_grad():
        fp.set_grad_enabled(True)
        assert fp.is_grad_enabled()
        fp.set_grad_enabled(False)
        fp.set_grad_enabled(True)
    assert fp.is_grad_enabled()
    with fp.enable_grad():
        fp.set_grad_enabled(False)
    assert fp.is_grad_enabled()


def test_a_decorated_generator_or_coroutine_runs_inside_and_its_caller_outside():
    ended = []

    @fp.no_grad()
    def steps():
        try:
            for k in range(3):
                assert (yield k, fp.is_grad_enabled()) in (None, "sent")
        except KeyError:
            yield "caught", fp.is_grad_enabled()
        finally:
            ended.append(fp.is_grad_enabled())
        return "end"

    def whole():
        return (yield from steps())

    first, second = whole(), steps()
    assert [next(first), first.send("sent"), fp.is_grad_enabled()] == [(0, False), (1, False), True]
    assert first.throw(KeyError()) == ("caught", False)
    with pytest.raises(StopIteration) as stop:
        next(first)
    next(second)
    second.close()
    assert stop.value.value == "end" and ended == [False, False] and fp.is_grad_enabled()

    @fp.precision("mixed")
    async def inside():
        await asyncio.sleep(0)
        return str(fp.get_precision())

    async def both():
        return await asyncio.gather(inside(), asyncio.sleep(0, str(fp.get_precision())))

    assert asyncio.run(both()) == ["mixed", "float32"]
