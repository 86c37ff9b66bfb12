"""The table of GPU generations, and what is said of a GPU that lacks something."""

import re

import pytest
from refusals import refuses

from minifp.errors import ArgumentError, DeviceError
from minifp.runtime.cuda.devices import GENERATIONS, TENSOR_FORMATS, generation, lacks


@pytest.mark.parametrize("capability, name, found", [
    ((7, 0), "Volta", (7, 0)), ((7, 2), "Volta", (7, 0)), ("75", "Turing", (7, 5)),
    ((8, 0), "Ampere", (8, 0)), ((8, 7), "Ampere", (8, 6)), ("89", "Ada", (8, 9)),
    ("90", "Hopper", (9, 0)), ((10, 3), "Blackwell", (10, 0)), ((11, 0), "Blackwell", (10, 0)),
    ("121", "Blackwell", (12, 0)), ((99, 0), "Blackwell", (12, 0)),
])  # fmt: skip
def test_a_capability_is_of_its_generation_or_the_next_older_one(capability, name, found):
    g = generation(capability)
    assert (g.name, g.capability) == (name, found)
    assert str(g) == f"{name} (compute capability {found[0]}.{found[1]})"


@pytest.mark.parametrize("capability", [(6, 1), "52"])
def test_what_is_older_than_volta_is_refused_with_the_reason(capability):
    refuses(DeviceError, r"needs 7\.0 \(Volta\) or later.*use device 'cpu'", generation, capability)


def test_the_table_is_in_order_and_no_generation_takes_less_than_one_before():
    for older, newer in zip(GENERATIONS, GENERATIONS[1:]):
        assert older.capability < newer.capability
        assert {*older.tensor_cores} <= {*newer.tensor_cores} <= {*TENSOR_FORMATS}
        assert older.workspace <= newer.workspace and older.first_cuda <= newer.first_cuda
    assert all(g.half_arithmetic and "float16" in g.tensor_cores for g in GENERATIONS)


@pytest.mark.parametrize("capability, feature, why", [
    ((7, 0), "bfloat16", "Volta .* has no tensor cores for bfloat16: they came with Ampere"),
    ((7, 5), "tf32", "Turing .* has no tensor cores for tf32: they came with Ampere"),
    ((8, 6), "float8", "Ampere .*8.6.* has no tensor cores for float8: they came with Ada"),
    ((7, 0), 13, "CUDA 13 no longer compiles for Volta .*: use CUDA 12 .*cupy-cuda12x"),
    ((10, 0), 11, "CUDA 11 is older than Blackwell .*: use CUDA 12 or later"),
    ((7, 0), "float16", None), ((7, 0), 12, None), ((12, 0), "float8", None), ((12, 0), 13, None),
])  # fmt: skip
def test_what_a_generation_lacks_is_a_sentence(capability, feature, why):
    said = lacks(generation(capability), feature)
    assert said is None if why is None else re.match(why, said)


def test_a_feature_that_is_none():
    refuses(ArgumentError, "expected one of float16, bfloat16", lacks, GENERATIONS[0], "float17")
