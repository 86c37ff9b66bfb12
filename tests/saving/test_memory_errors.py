"""A lack of memory is said as it is, where files are read and written; models leave none."""

import gc
import io
import tracemalloc
from unittest import mock

import pytest
from lab_blobs import blobs

import minifp as fp
from minifp import nn
from minifp.data import decoding, files, folder, packed
from minifp.lab.workers import travel
from minifp.scope.findings import Findings

TENSORS = "minifp.saving.tensor_file.safetensors_format"
PLACES = {  # what has no memory -> what is called with the path of a checkpoint
    f"{TENSORS}.serialize": lambda path: fp.save({"a": fp.ones(2)}, path),
    f"{TENSORS}.deserialize": fp.load,
    "numpy.load": lambda _: files.bundled_arrays("digits.npz"),
    "minifp.runtime.untrusted.arrays_of": Findings.load,
    "minifp.runtime.untrusted.zipfile.ZipFile": packed.unpack,
    "minifp.data.decoding.picture": lambda path: folder.decoded((str(path), None, "RGB", False)),
    "cloudpickle.dumps": lambda _: travel.carried(blobs()),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_lack_of_memory_is_no_damage_and_changes_nothing(place, tmp_path):
    pytest.importorskip(place.split(".")[0])
    path, answers = tmp_path / "held.safetensors", io.BytesIO()
    fp.save({"a": fp.zeros(2)}, path)
    before = path.read_bytes()
    with mock.patch(place, side_effect=MemoryError("no room")):
        with pytest.raises(MemoryError, match="no room"):
            PLACES[place](path)
        decoding.serve([b'["a.png", null, "L", false]'], answers)  # as a worker does
    state = decoding.HEAD.unpack(answers.getvalue()[: decoding.HEAD.size])[0]
    assert (state == decoding.NO_MEMORY) == ("picture" in place) and path.read_bytes() == before


def test_models_that_are_made_trained_and_dropped_leave_nothing():
    def traced():
        for _ in range(100):
            model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
            optimizer = fp.optim.Adam(model.parameters())
            model(fp.ones(4, 8)).sum().backward()
            optimizer.step()
        gc.collect()
        return tracemalloc.get_traced_memory()[0], len(gc.get_objects())

    traced()
    tracemalloc.start()
    try:
        (bytes_before, before), (bytes_after, after) = [traced() for _ in range(3)][1:]
    finally:
        tracemalloc.stop()
    assert after - before < 50 and bytes_after - bytes_before < 100 * 100
