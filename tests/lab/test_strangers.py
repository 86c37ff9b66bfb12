"""Folders and files that somebody sent: read right, or refused in a sentence that names it."""

import io
import json
import os
import random
import shutil
import struct
import tarfile
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from lab_blobs import blobs
from refusals import refuses

import minifp as fp
from minifp import lab
from minifp.data import archives
from minifp.data.sound import read_wav
from minifp.lab.capacity import searching
from minifp.lab.exhibits import showing
from minifp.lab.results import store
from minifp.report import pieces, rendering
from minifp.report.content import Document, Facts, Section
from minifp.runtime import untrusted
from minifp.saving import tensor_file
from minifp.scope.findings import Findings
from minifp.scope.inspecting import inspect
from minifp.teach import standing_views
from minifp.teach.standing import OUTSIDE, Standing, Tried

pytestmark = pytest.mark.usefixtures("no_pictures")
ARMS = ["float32", "mixed", "float32@order"]
MARK = '<i title="]]></script><!--<script>"><img onerror='
CARD = Section("", [Facts([(MARK, pieces.Pieces((MARK, MARK)))], MARK)])
SECRET = "what only this machine knows"
BAD: list = [None, True, -1, 1.0, 2**63, 10**400, 1e308, "nan", "", "../../secret.txt", "a\0b"]
BAD += ["`id`", "$(touch RAN)", "<script>x", "\ud800", "x" * 100_000, [], {}, [[1]], {"a": 1}]
BAD += [json.loads("[" * n + "]" * n) for n in (60, 300)]
BAD += ["mixed;../x=float32", "mixed@nothing", "MIXED", {"/etc/passwd": "/etc/passwd"}]


@pytest.fixture(scope="module")
def sent(tmp_path_factory):
    """A folder as it is sent, beside what is not to be touched."""
    place = tmp_path_factory.mktemp("sent")
    (place / "secret.txt").write_text(SECRET, encoding="utf-8")
    fp.compare(blobs(steps=6), ARMS, 2, out=place / "whole", progress=False)
    fp.compare(blobs(steps=6), ARMS[:2], [2], out=place / "more", progress=False)
    return place


def places(value, way=()):
    """The ways to all that is in a value."""
    inside = dict(enumerate(value)) if isinstance(value, list) else value
    for key in inside if isinstance(inside, dict) else ():
        yield (*way, key)
        yield from places(value[key], (*way, key))


def mutated(draw, value):
    """JSON with one value in place of another, without one, or with one by another name."""
    ways = [way for way in places(value) if way[0] not in ("rows", "scores", "divergence")]
    head = draw.choice(sorted({str(way[:2]) for way in ways}))
    *way, last = draw.choice([way for way in ways if str(way[:2]) == head])
    box = value
    for key in way:
        box = box[key]
    kind, old = draw.randrange(5), box[last]
    box[last] = draw.choice(BAD)
    if kind < 2:
        del box[last]
    if kind == 1 and isinstance(box, dict):
        box["$(x)"] = old
    return json.dumps(value)


def attacked(draw, folder):
    """Change one file of a folder; its name."""
    path = draw.choice(sorted(p for p in folder.rglob("*") if p.is_file()))
    path = draw.choice([folder / "results.json", folder / "registered.json", path])
    content, kind = path.read_bytes(), draw.randrange(8)
    at = draw.randrange(len(content))
    if path.suffix == ".json" and kind < 5:
        content = mutated(draw, json.loads(content)).encode()
    elif kind < 7:
        content = content[:at] + (draw.randbytes(4) + content[at + 4 :]) * (kind % 2)
    else:
        new = draw.choice([b"1" * 5000, b"NaN", b"1e999", b"\\ud800", b"[" * 100_000])
        content = content.replace(b"1", new, 1)
    path.unlink()
    if kind == 7 and os.name == "posix":
        to = draw.choice([None, folder.parent / "secret.txt", "/dev/zero", path])
        os.mkfifo(path) if to is None else path.symlink_to(to)
    else:
        path.write_bytes(content)
    return path.relative_to(folder)


@pytest.mark.sampled(20, core=lambda seed: seed < 6)
@pytest.mark.parametrize("seed", range(200))
def test_a_folder_with_one_file_changed_is_right_or_refused(sent, tmp_path, seed, monkeypatch):
    monkeypatch.setattr("minifp.lab.results.origin.commit", lambda folder: "")
    monkeypatch.setattr("subprocess.Popen", None)  # nothing is run
    folder = shutil.copytree(sent / "whole", tmp_path / "whole")
    shutil.copy(sent / "secret.txt", tmp_path)
    name = attacked(random.Random(seed), folder)
    try:
        loaded = fp.Comparison.load(folder)
        assert loaded.table() and loaded.save(tmp_path / "copy") is None
        page = loaded.report(tmp_path / "page.html").read_text(encoding="utf-8")
        assert SECRET not in page and "<script>x" not in page
        lab.merge(folder, sent / "more", out=tmp_path / "merged")
        fp.compare(blobs(steps=6), ARMS, 2, out=folder, progress=False)
    except fp.MinifpError as error:
        assert str(tmp_path) in str(error) and len(str(error)) < 900, name
    assert (tmp_path / "secret.txt").read_text(encoding="utf-8") == SECRET
    assert {*os.listdir(tmp_path)} <= {"whole", "secret.txt", "copy", "page.html", "merged"}


def marked(value):
    """A value whose texts would be markup."""
    if isinstance(value, dict):
        return {k: marked(v) for k, v in value.items()}
    if isinstance(value, list):
        return [marked(v) for v in value]
    return f"{value}{MARK}&" if isinstance(value, str) else value


def test_no_text_of_a_file_becomes_markup(sent, tmp_path):
    c = fp.Comparison.load(sent / "whole")
    texts = {name: marked(getattr(c.task, name)) for name in ("name", "description", "metric_unit")}
    c.task, c.config = replace(c.task, **texts), marked(c.config)
    c.environment = marked(c.environment)
    for run in c.runs:
        run.note, run.made, run.kept = MARK, {MARK: MARK}, {MARK: "x.txt"}
    found = inspect(blobs(steps=2), every=1, progress=False)
    found.about, found.warnings = marked(found.about), [MARK]
    found.details = marked(found.details)
    for step in found.steps:
        for layers in step.histograms.values():
            layers.update({marked(name): layers.pop(name) for name in [*layers]})
    standing = Standing(OUTSIDE, {MARK: MARK}, [Tried(MARK, MARK, False, 1)])
    task, limit = blobs(steps=2, name=MARK), searching.Limit(MARK)
    limit.trials.append(searching.Tried(MARK, 1, False, why=MARK))
    apart = lab.ablate(task, ["loss_scale"], 1, progress=False)
    one = showing.Exhibit("x", MARK, MARK, None, (), kind="ablation")
    others = [
        rendering.page(result.document())
        for result in (
            showing.Gallery("quick", [one], [apart.comparison], ablations={"x": apart}),
            lab.sweep(task, {"lr": [0.1]}, ARMS[:1], 1, progress=False),
        )
    ] + [
        searching.Capacity(MARK, 1, 1, [limit], {})._repr_html_(),
        rendering.inline(Document(title=MARK, about=MARK, sections=[CARD]), ""),
        *(apart._repr_html_(), standing_views.page([standing])),
    ]
    paths = c.report(tmp_path / "a.html"), found.report(tmp_path / "b.html")
    pages = [path.read_text(encoding="utf-8") for path in paths]
    for page in [*pages, c._repr_html_(), *others]:
        assert "&lt;i title=" in page
        assert not any(part in page for part in ("<i title", "</script><!", "<img on", ' title="]'))


@pytest.mark.parametrize("name", ["results.json", "report.html", "runs.csv", "reproduce.sh",
                                  "runs/mixed,seed=1.npz", "runs/mixed,seed=1.json"])  # fmt: skip
def test_nothing_is_written_through_a_link_that_was_sent(sent, tmp_path, name):
    folder = shutil.copytree(sent / "whole", tmp_path / "whole")
    for path in folder.glob("runs/mixed,seed=1.*"):
        path.unlink()
    (folder / name).unlink(missing_ok=True)
    (tmp_path / "secret.txt").write_text(SECRET, encoding="utf-8")
    (folder / name).symlink_to(tmp_path / "secret.txt")
    with pytest.raises(fp.DataError, match="expected it in there, and no link"):
        fp.compare(blobs(steps=6), ARMS, 2, out=folder, progress=False)
    assert (tmp_path / "secret.txt").read_text(encoding="utf-8") == SECRET


def test_json_is_what_its_standard_says(tmp_path):
    path = tmp_path / "a.json"
    for text, told in (
        ('{"a": 1, "a": 2}', "'a' twice"), ("[NaN]", "NaN is no number"),
        ("[1e999]", "no float holds"), ("1" * 30, "more than 64 bits"),
        ("[" * 101 + "]" * 101, "more than 100 levels"), ("[" * 10**6, "more than 100 levels"),
        ('"\\ud800"', "surrogates not allowed"),
        ('{"a": ["\\u001b[2J"]}', "a control character in"),
    ):  # fmt: skip
        path.write_text(text, encoding="utf-8")
        refuses(fp.DataError, told, untrusted.json_of, path)
    os.truncate(path, 2**40)
    refuses(fp.DataError, "expected at most", untrusted.json_of, path)


def test_arrays_are_unpacked_only_as_far_as_they_say():
    head = b"\x93NUMPY\x01\x00" + struct.pack("<H", 80)
    huge = head + b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}".ljust(80)
    objects = io.BytesIO()
    np.save(objects, np.array([{}]), allow_pickle=True)
    for content in (bytes(2**28 + 1), huge, objects.getvalue()):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("a.npy", content)
        refuses(fp.DataError, "cannot read x as a", untrusted.arrays_of, out.getvalue(), "x")


@pytest.mark.skipif(os.name != "posix", reason="there are no such files")
def test_pipes_and_devices_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        for read in (tensor_file.read, Findings.load, read_wav, store.untrusted.json_of):
            refuses(fp.MinifpError, "no ordinary file", read, path)


def test_a_tar_that_unpacks_without_end_is_refused(tmp_path):
    info = tarfile.TarInfo("long")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 2**32
    (tmp_path / "a.tar").write_bytes(info.tobuf() + bytes(1024))
    with pytest.raises(fp.DataError, match="a part is too large"):
        archives.unpacked("bccd", tmp_path / "a.tar", "(.*)")


def test_a_cell_of_a_sweep_is_in_its_folder(tmp_path):
    (tmp_path / "sweep" / "cells").mkdir(parents=True)
    (tmp_path / "sweep" / "cells" / "lr=0.01").symlink_to(tmp_path)
    with pytest.raises(fp.DataError, match="expected it in there, and no link"):
        lab.sweep(blobs(), {"lr": [0.01]}, ARMS[:1], 1, out=tmp_path / "sweep", progress=False)
