"""A lack of memory is said as it is, wherever files are read and written; and models leave none."""

import gc
import io
import tracemalloc
from unittest import mock

import numpy as np
import pytest
from lab_blobs import blobs

import minifp as fp
from minifp import nn
from minifp.data import decoding, files, folder, packed, sound
from minifp.data.detection import boxed
from minifp.lab.workers import travel
from minifp.nn import functional as F
from minifp.scope.findings import Findings

DECODING = "minifp.data.decoding.picture"
PLACES = {  # what has no memory -> what is called with the path of a checkpoint
    "minifp.saving.tensor_file.safetensors_format.serialize": lambda p: fp.save(
        {"a": fp.ones(2)}, p
    ),
    "minifp.saving.tensor_file.safetensors_format.deserialize": fp.load,
    "numpy.load": lambda p: files.bundled_arrays("digits.npz"),
    "minifp.scope.findings.np.load": Findings.load,
    "minifp.data.packed.np.load": packed.unpack,
    DECODING: lambda p: folder.decoded((str(p), None, "RGB", False)),
    "cloudpickle.dumps": lambda p: travel.carried(blobs()),
    "soundfile.read": lambda p: sound.by_soundfile("a.flac", b"", "unknown"),
    "PIL.Image.open": lambda p: boxed.sizes_of(pytest.importorskip("PIL.Image"), p),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_lack_of_memory_is_no_damage_and_changes_nothing(place, tmp_path):
    pytest.importorskip(place.split(".")[0])
    path = tmp_path / "held.safetensors"
    fp.save({"a": fp.zeros(2)}, path)
    before = path.read_bytes()
    with mock.patch(place, side_effect=MemoryError("no room")), pytest.raises(MemoryError) as told:
        PLACES[place](path)
    assert type(told.value) is MemoryError and path.read_bytes() == before


def test_a_worker_without_memory_says_so():
    answers = io.BytesIO()
    with mock.patch(DECODING, side_effect=MemoryError("no room")):
        decoding.serve([b'["a.png"]'], answers)
    assert decoding.HEAD.unpack(answers.getvalue()[: decoding.HEAD.size])[0] == decoding.NO_MEMORY


def test_models_that_are_made_trained_and_dropped_leave_nothing():
    def train():
        model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
        optimizer = fp.optim.Adam(model.parameters())
        F.cross_entropy(model(fp.ones(4, 8)), np.array([0, 1, 0, 1])).backward()
        optimizer.step()

    def traced():
        for _ in range(100):
            train()
        gc.collect()
        return tracemalloc.get_traced_memory()[0], len(gc.get_objects())

    traced()
    tracemalloc.start()
    try:
        traced()
        (bytes_before, before), (bytes_after, after) = traced(), traced()
    finally:
        tracemalloc.stop()
    assert after - before < 50 and bytes_after - bytes_before < 100 * 100  # of a hundred models
