"""Every CUDA text that minifp makes, compiled for GPUs as on one, by NVRTC, which needs none.

The texts are those that kernels launch for all cases (see test_device_kernels.py), and steps of all
optimizers. They are recorded, nothing is computed. Of a formula's texts, which differ in formats
and axes, one is compiled, of other files' all: each night, and a few that the commit draws always.
"""

import os
import re
from contextlib import suppress
from functools import cache, partial
from itertools import cycle
from math import prod
from pathlib import Path
from unittest.mock import patch

import build
import numpy as np
import pytest
import test_device_kernels
from nvrtc import compiled, most_threads, spills
from sampling import ENVIRONMENT, number_of
from update_rules import RULES

import minifp as fp
from minifp import nn
from minifp.autograd.gradient_clip import squared_norm
from minifp.derive.dtypes import CODES
from minifp.errors import MinifpError
from minifp.numerics.kernels import Kernel
from minifp.runtime.cuda import rows, source, teaching
from minifp.runtime.cuda.arrays import to_device
from minifp.runtime.cuda.source import common
from minifp.training.step_memory import StepMemory

nightly = partial(pytest.param, marks=pytest.mark.nightly)
# Beside sm_90: Turing, Ampere, Blackwell.
ARCHITECTURES = ("sm_75", nightly("sm_80"), nightly("sm_100"))
SHORT, TOGETHER = 4000, 60  # characters of a text that is compiled with others, and how many
PRECISIONS = ("float32", "mixed", "mixed,optimizer_state=float16", "mixed,master_weights=off")
# Bytes of registers that a thread may move to memory: where a block has up to 512 threads, and so
# each thread 128 registers; and where the compiler leaves half of the registers to another block.
SPILLED, CHOSEN = {"cumulative.cu": 8}, 8
MOST_ALONG = build.number_of("MOST_ALONG", common())  # threads of a block of rows


def every_other(a):
    wide = np.zeros([2 * n for n in a.shape], a.dtype)
    return to_device(wide)[tuple(slice(None, None, 2) for _ in a.shape)]


LAYOUTS = (
    *(lambda a: to_device(np.array(a, order="C")), lambda a: to_device(np.array(a.T, order="C")).T),
    every_other,
)


@cache
def launches():
    """By text and kernel, in the order in which they are first launched, the most threads of a
    block. Rows are taken for what they are, and for long ones, which the most threads share."""
    made: dict = {}

    def launch(module, name, blocks, threads, *args):
        threads = prod(threads) if isinstance(threads, tuple) else threads
        made[module.text, name] = max(threads, made.get((module.text, name), 0))

    long_rows = {name: getattr(rows, name)[-1:] for name in ("ALONG", "ACROSS")}
    with patch.object(source.Module, "launch", launch):
        # Results of references are as good, and no kernel for the CPU is compiled.
        with patch.object(Kernel, "compiled", property(lambda kernel: None)):
            found = test_device_kernels.calls()
        called(found)
        with patch.multiple(rows, **long_rows):
            called(found)
        for rule in RULES.values():
            for precision in PRECISIONS:
                step(rule, precision)
            update(rule)
        step(RULES["SGD"], "float8")
        half = fp.ones(2, 2, dtype="float16", device="cuda")
        fp.dropout(half)
        nn.BatchNorm1d(2).to(device="cuda")(half)
        squared_norm(half.array)
        whole = fp.arange(4, device="cuda")
        fp.eq(whole, whole)
        for accumulate in ("float16", "float32"):
            teaching.matmul(half.array, half.array, accumulate)
    return made


def texts():
    return tuple(dict.fromkeys(text for text, _ in launches()))


def called(found):
    for call in (call for name in test_device_kernels.NAMES for call in found.get(name, ())):
        getattr(call.kernel.device_kernel, "plans", {}).clear()
        for place in LAYOUTS:
            args = [place(a) if isinstance(a, np.ndarray) else a for a in call.args]
            to = tuple(r.dtype for r in call.results)
            with suppress(MinifpError):  # test_device_kernels.py is what fails then
                call.kernel.device_kernel(*args, to=to, **call.params)


def step(rule, precision):
    """A step of an optimizer on the device, if it can decide there whether to step."""
    with fp.precision(precision):
        layer = nn.Linear(3, 2).to(device="cuda")
        optimizer = fp.MixedOptimizer(rule(layer.parameters()))
        if StepMemory(optimizer).fits():
            optimizer.minimize(layer(fp.ones(4, 3, device="cuda")).sum())


def update(rule):
    """Updates by the rule of an optimizer: its gradients and its states in half, or float."""
    optimizer = rule([nn.Parameter([1.0])])
    if optimizer.rule is None:
        return
    compiled = optimizer.rule.derived
    settings = optimizer.keywords(optimizer.param_groups[0], {**optimizer.numbers}, 1)
    half, single = (to_device(np.ones(8, dtype)) for dtype in (np.float16, np.float32))
    for w, copy, g, state in (
        *((single, None, single, single), (single, half, half, single)),
        *((single, half, half, half), (half, None, half, single)),
    ):
        states = [state] * len(optimizer.state_names)
        formula = compiled.formula((w, g, *states), 1.0, settings)
        compiled.on_device.in_place(formula, w, copy, g, states, single)


FORMULA = re.compile(r"^__device__ inline float f\(.*?^}", re.MULTILINE | re.DOTALL)
FORMATS = re.compile(r"^typedef .*\n", re.MULTILINE)
DEFINED = re.compile(r"^#define (\w+)", re.MULTILINE)


def own(text):
    return text.removeprefix(common())


def chosen():
    """Of the texts of one formula, which differ in formats and axes, the longest, and all others.

    The longest has the most axes, and float in place of half: it needs the most registers.
    """
    found: dict = {}
    for text in texts():
        formula = FORMULA.search(own(text))
        key = (formula[0], *build.KERNEL.findall(text)) if formula else text
        key = FORMATS.sub("", own(text)) if "by_rows(" in text else key
        found[key] = max(text, found.get(key, ""), key=len)
    return list(found.values())


def batches(one_in):
    """Texts to compile at once: short ones together, as to read the headers takes the longest.
    one_in: of how many texts one is drawn."""
    seed = os.environ[ENVIRONMENT]
    drawn = [t for t in chosen() if number_of(seed, t) % one_in == 0]
    short = [t for t in drawn if len(own(t)) <= SHORT and "#include" not in own(t)]
    yield from ([t] for t in drawn if t not in short)
    yield from (short[i : i + TOGETHER] for i in range(0, len(short), TOGETHER))


def joined(batch):
    """One text of several, each in a namespace of its own; one alone is as it is."""
    if len(batch) == 1:
        return batch[0]
    parts = [common()]
    for i, text in enumerate(map(own, batch)):
        parts += [f"namespace text_{i} {{", text.replace('extern "C"', ""), "}"]
        parts += [f"#undef {name}" for name in DEFINED.findall(text)]
    return "\n".join(parts)


@cache
def files():
    """By name, the text of each `.cu` file of minifp."""
    found = Path(fp.__file__).parent.rglob("*.cu")
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(found)}


def file_of(text):
    """The file that a text is made of; "" where it was a template."""
    return next((name for name, content in files().items() if content in text), "")


def families():
    """By the kernels in it and whether it reads packs, one text of each `.cu` file: that with most
    arrays of half."""
    found: dict = {}
    for text in sorted(texts(), key=lambda t: own(t).count("typedef half")):
        found[("#define PACKED 1" in text, *build.KERNEL.findall(text))] = text
    return found


def too_wide(batch, log):
    """What a compiler says of texts, where they are launched with more threads than it found
    registers for."""
    room = most_threads(log)
    for i, text in enumerate(batch):
        for name in build.KERNEL.findall(text):
            if len(batch) == 1:
                threads = room[name]
            else:  # in its namespace, before the types of its arguments
                space = f"text_{i}"
                begins = f"_ZN{len(space)}{space}{len(name)}{name}E"
                (threads,) = (n for kernel, n in room.items() if kernel.startswith(begins))
            if threads < build.bounds(text)[name]:
                yield f"{file_of(text)}: {name}: {build.bounds(text)[name]} threads, not {threads}"


def test_every_file_of_kernels_has_texts():
    known = {name for _, *kernels in families() for name in kernels}
    for name, text in files().items():
        missing = {*build.KERNEL.findall(text)} - known
        assert not missing, f"no case launches {missing} of {name}"


def test_no_block_has_more_threads_than_a_kernel_has_registers_for():
    wrong = {
        f"{file_of(text)}: {name}: {threads} threads, {build.bounds(text)[name]} at most"
        for (text, name), threads in launches().items()
        if threads > build.bounds(text)[name]
    }
    assert not wrong, "\n".join(sorted(wrong))


@pytest.mark.parametrize("one_in", [16, nightly(1)])
def test_texts_compile_and_no_kernel_runs_out_of_registers(one_in):
    wrong = []
    for batch in batches(one_in):
        cubin, log = compiled(joined(batch), "sm_90")
        assert cubin
        wrong += too_wide(batch, log)
        place = file_of(batch[0]) if len(batch) == 1 else "a short text"
        room = most_threads(log)
        for name, (stored, loaded) in spills(log).items():
            is_chosen = room[name] >= 2 * MOST_ALONG and "by_rows" in name
            if stored > (CHOSEN if is_chosen else SPILLED.get(place, 0)):
                head = " ".join(own(batch[0])[:150].split())
                wrong.append(f"{place}: {name}: {stored} bytes stored, {loaded} loaded: {head}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_file_compiles_for_other_architectures(arch):
    short = [text for text in families().values() if "#include" not in own(text)]
    for batch in [short, *([t] for t in families().values() if t not in short)]:
        cubin, log = compiled(joined(batch), arch)
        assert cubin and not list(too_wide(batch, log))


@pytest.mark.parametrize("arch", ("sm_75", nightly("sm_90")))
def test_every_file_compiles_for_formats_that_cuda_lacks(arch):
    """In place of half: one after the other, so that each file mixes them."""
    names = cycle(CODES)
    coded = [
        re.sub(r"^typedef half", lambda found: f"typedef {next(names)}", text, flags=re.MULTILINE)
        for text in families().values()
        if "typedef half" in text and "#include" not in own(text)
    ]
    assert len(coded) > 20, len(coded)
    cubin, log = compiled(joined(coded), arch)
    assert cubin and not list(too_wide(coded, log))


MANY_NUMBERS = """
extern "C" __global__ void many(float *x, int n) {
  float v[64];
#pragma unroll
  for (int k = 0; k < 64; k++) v[k] = x[k * n];
  for (int i = 0; i < n; i++)
#pragma unroll
    for (int k = 0; k < 64; k++) v[k] = v[k] * v[(k + 1) % 64] + 1.0f;
#pragma unroll
  for (int k = 0; k < 64; k++) x[k * n] = v[k];
}
"""


def test_a_kernel_that_runs_out_of_registers_or_has_too_many_for_a_launch_is_seen():
    assert not spills(compiled(MANY_NUMBERS, "sm_90")[1])
    found = spills(compiled(MANY_NUMBERS, "sm_90", "--maxrregcount=32")[1])
    assert found["many"][0] > 0 and found["many"][1] > 0
    told = MANY_NUMBERS.replace("void many", "void __launch_bounds__(1024) many")
    assert build.bounds(MANY_NUMBERS + told.replace("many", "more")) == {"many": 256, "more": 1024}
    assert 256 <= most_threads(compiled(MANY_NUMBERS, "sm_90")[1])["many"] < 1024
    log = compiled(told, "sm_90")[1]
    assert most_threads(log) == {"many": 1024} and not list(too_wide([told], log))
    assert list(too_wide([told], compiled(MANY_NUMBERS, "sm_90")[1]))


def test_what_does_not_compile_is_an_error_and_texts_together_do_not_see_each_other():
    with pytest.raises(RuntimeError, match='identifier "strange" is undefined'):
        compiled('extern "C" __global__ void wrong(float *x) { x[0] = strange; }', "sm_90")
    first = "#define N 3\n__device__ float two() { return 2.0f; }"
    with pytest.raises(RuntimeError, match='"two" is undefined'):
        compiled(joined([first, "__device__ float four() { return two(); }"]), "sm_90")
    with pytest.raises(RuntimeError, match='"N" is undefined'):
        compiled(joined([first, "__device__ int four() { return N; }"]), "sm_90")
