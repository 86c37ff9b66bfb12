"""A task under the microscope: `minifp inspect` and `watch`; its advice, checked by training."""

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from statistics import mean
from typing import Any

from minifp.errors import CheckpointError
from minifp.lab.resume import DEFAULT_PRECISION, DEFAULT_SEED, saved_run
from minifp.lab.run import LAST_STEPS, Run, Training, total_steps, train
from minifp.lab.settings import adjusted, canonical, check_data
from minifp.lab.task import Task
from minifp.lab.tasks import load_task
from minifp.numerics import policy, precision_grammar
from minifp.numerics.formats import as_dtype, is_narrow
from minifp.runtime import random
from minifp.runtime.cpu.blas import one_thread
from minifp.runtime.device import default_device
from minifp.saving import checkpoint
from minifp.scope.microscope import Microscope, microscope

OnStep = Callable[[Microscope, list[float]], object]  # with the loss of each step so far
DETAILS = 2  # the step of which all details are taken: not the first, which makes state and caches
INTERRUPTED = "interrupted"  # in `about`: when, if it was
CHECKED_WITH = "mixed"  # instead of precisions whose gradients are wide: the advice is for float16


def inspect(
    task: Any, precision: str | None = None, seed: int | None = None, epochs: int | None = None,
    steps: int | None = None, dial: int | None = None, *, every: int = 20,
    checkpoint: str | None = None, check: bool = False, progress: bool = True,
    device: str | None = None,
) -> Microscope:  # fmt: skip
    """Train a task under the microscope, and return what was seen.

    task, epochs, steps, dial, device: as `fp.compare` takes them. precision, seed: by default those
    of the checkpoint, or "mixed" and 0. every: which steps are looked at. checkpoint: a file of
    `minifp train` or `fp.save`; from there one single step is made, with one batch, and the file
    stays as it is. check: afterwards also train with constant loss scales, inside of the advised
    range and outside, to see whether the advice is right (`details["check"]`).
    Interrupted by Ctrl-C it returns what was seen until then, and says so in `about`.
    Raises ArgumentError and CheckpointError as these do.
    """
    before = {} if checkpoint is None else run_in(checkpoint)
    precision = before.get("precision") if precision is None else precision
    seed = before.get("seed") if seed is None else seed
    run = run_of(task, precision, seed, epochs, steps, dial)
    task, data = run[0], run[-1]
    total = 1 if checkpoint is not None else total_steps(task, data[0])
    with ExitStack() as stack:
        stack.enter_context(default_device(device))
        bar = stack.enter_context(bar_of(task, total, progress))
        how = {"path": checkpoint, "details": DETAILS, "progress": progress}
        scope = watch(*run, every, lambda *_: bar.update(), **how)
        scope.about |= {"task": task.name, "seed": run[2]}
        if check and INTERRUPTED not in scope.about:
            try:
                for row in check_runs(*run, scope, bar):
                    scope.details.setdefault("check", []).append(row)
            except KeyboardInterrupt:
                scope.about[INTERRUPTED] = "while the advice was checked"
    return scope


def looked_at(task, precision, seed, data, looks, progress) -> Microscope:
    """What is seen of a whole training, of which so many steps are looked at, none in detail."""
    total = total_steps(task, data[0])
    with bar_of(task, total, progress) as bar:
        bar.set_postfix_str(f"the microscope looks at {precision}")
        every = max(1, total // looks)
        return watch(task, precision, seed, data, every, lambda *_: bar.update())


def follow(
    task: Any, begin: Callable[[Task, int], OnStep], every: int, device: str | None, **run: Any
) -> Microscope:
    """Train a task under the microscope for somebody who looks on: `minifp watch`.

    begin(task, steps in all): called once, returns what is called after each step with the
    Microscope and the losses so far. All else, and run: as `inspect` has it.
    """
    parts = run_of(task, **run)
    with default_device(device):
        return watch(*parts, every, begin(parts[0], total_steps(parts[0], parts[-1][0])))


def run_of(task, precision, seed, epochs, steps, dial) -> tuple[Task, str, int, tuple]:
    """(task, precision, seed, data) of a run, with what it has by default."""
    task = adjusted(load_task(task), epochs, steps, dial)
    precision = canonical(DEFAULT_PRECISION if precision is None else precision)[0]
    return task, precision, DEFAULT_SEED if seed is None else seed, check_data(task.data())


def bar_of(task, total, progress):
    """The progress bar."""
    from minifp.runtime.bars import tqdm

    how = {"desc": task.name, "unit": "step", "mininterval": 0.5}
    return tqdm(total=total, disable=not progress, **how)


def run_in(path) -> dict:
    """What is known of the run in a checkpoint; nothing of one that `fp.save` wrote."""
    try:
        return saved_run(path)
    except CheckpointError as error:
        if "not written by" in str(error):
            return {}
        raise


def watch(
    task, precision, seed, data, every, on_step, *, path=None, details=None, progress=False
) -> Microscope:
    """The training itself, or a step of a checkpoint.

    on_step(scope, losses): called after each step. details: which step is taken apart, if any;
    progress: whether a bar is shown meanwhile."""
    before = random.get_state()
    try:
        random.manual_seed(seed)
        with one_thread(), policy.precision(precision) as active:
            training = Training(task, Run(str(active), seed), data, graph=False)
            if path is not None:
                take_up(path, training)
            total = 1 if path is not None else training.total
            step = details and min(details, total)
            parts = training.model, training.optimizer, every
            scope = microscope(*parts, details=step, progress=progress)
            try:
                with scope:
                    if path is None:
                        training.to_the_end(lambda run: on_step(scope, run.history["loss"]))
                    else:
                        training.one_step([next(iter(training.loader))])
                        on_step(scope, training.run.history["loss"])
            except KeyboardInterrupt:
                if not scope.count:
                    raise
                scope.about[INTERRUPTED] = f"after {scope.count} steps"
            return scope
    finally:
        random.set_state(before)


def take_up(path, training) -> None:
    """Load what is in a checkpoint: all of a run, or the weights alone."""
    try:
        checkpoint.load(path, **training.parts())
    except CheckpointError:
        checkpoint.load(path, model=training.model)


# ---- is the advice right? -----------------------------------------------------------------------


def check_runs(task, precision, seed, data, scope, bar) -> Iterator[dict]:
    """Train as often with constant scales: none, the ends of the range, its middle, and beyond.

    Each is {"scale": log2 or None, "advised", "status", "loss": the mean of the last steps,
    "skipped"}; the first is float32, whose scale is "float32".
    """
    advice = scope.advice()
    if not advice.largest:
        scope.warnings.append("The advice was not checked, because no gradients were seen.")
        return
    base = policy.as_precision(precision)
    stored = base.gradients, *base.autocast_formats
    is_wide = not any(is_narrow(as_dtype(name)) for name in stored)
    name = CHECKED_WITH if is_wide and not base.gradient_operands else precision
    inside = sorted({max(advice.low, 0), advice.choice, advice.high})
    scales: list = [None, *(k for k in inside if advice.low <= k)]
    scales += [] if advice.or_more else [advice.high + 4]
    bar.total = (bar.total or 0) + total_steps(task, data[0]) * (1 + len(scales))
    yield {"scale": "float32", "advised": True, **ended(task, policy.SINGLE, seed, data, bar)}
    for k in scales:
        scale = "off" if k is None else f"{2.0**k:.17g}"
        is_advised = advice.low <= (k or 0) <= advice.high
        constant = str(precision_grammar.read(name).changed(("loss_scale", scale)))
        yield {"scale": k, "advised": is_advised, **ended(task, constant, seed, data, bar)}


def ended(task, precision, seed, data, bar) -> dict:
    """How one run ends."""
    run = train(task, precision, seed, data, lambda run: bar.update())
    last = [loss for loss in run.history["loss"][-LAST_STEPS:] if math.isfinite(loss)]
    loss = mean(last) if last else None
    return {"status": run.status, "loss": loss, "skipped": run.skipped, "steps": run.steps}
