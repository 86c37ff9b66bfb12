"""Files that are written: never half, never over what is not meant, with the rights they had."""

import errno
import io
import os
import re
import stat
import threading
import time
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest
from lab_blobs import blobs, only_picture
from refusals import refuses
from watching import at_once

import minifp as fp
from minifp import ArgumentError
from minifp.saving import files

posix = pytest.mark.skipif(os.name == "nt", reason="rights and links of POSIX")
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
not_root = pytest.mark.skipif(IS_ROOT, reason="root may write anywhere")


def names(folder):
    return sorted(p.relative_to(folder).as_posix() for p in Path(folder).rglob("*"))


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


class Full(io.FileIO):
    def __init__(self, *given, error=errno.ENOSPC, **named):
        super().__init__(*given, **named)
        self.error = error

    def write(self, data):
        super().write(memoryview(data).cast("B")[:10])
        raise OSError(self.error, os.strerror(self.error))


@pytest.fixture
def full_disk(monkeypatch):
    """A function after whose call every file that minifp writes is on a full disk."""

    def fill(error=errno.ENOSPC):
        monkeypatch.setattr(files, "open", partial(Full, error=error), raising=False)

    return fill


@pytest.mark.parametrize("error", ["ENOSPC", "EDQUOT", "EIO", "EFBIG"])
@pytest.mark.parametrize("when", ["write", "fsync"])
def test_a_full_disk_is_one_line_and_leaves_what_was_there(
    tmp_path, full_disk, error, when, monkeypatch
):
    files.write(tmp_path / "c", "before")
    if when == "write":
        full_disk(getattr(errno, error, errno.ENOSPC))
    else:
        failed = OSError(getattr(errno, error, errno.ENOSPC), "")
        monkeypatch.setattr(files.os, "fsync", Mock(side_effect=failed))
    with pytest.raises(fp.FileError, match="cannot be written") as raised:
        files.write(tmp_path / "c", "after, and longer")
    assert raised.value.errno == getattr(errno, error, errno.ENOSPC)
    assert isinstance(raised.value, OSError) and "\n" not in str(raised.value)
    with pytest.raises(fp.FileError):
        files.write(tmp_path / "new" / "folder" / "c", "after, and longer")
    assert names(tmp_path) == ["c"] and (tmp_path / "c").read_text("utf-8") == "before"


def test_of_several_files_all_are_written_or_none(tmp_path, monkeypatch):
    files.write_all({tmp_path / "a": "1", tmp_path / "b": b"1"})
    fill, replace, renamed = files.fill, os.replace, []

    def fill_all_but_b(part, data, before):
        if data == b"2b":
            raise OSError(errno.ENOSPC, "No space left on device")
        fill(part, data, before)

    monkeypatch.setattr(files, "fill", fill_all_but_b)
    with pytest.raises(fp.FileError, match="b cannot be written"):
        files.write_all({tmp_path / "a": "2a", tmp_path / "b": "2b"})
    assert names(tmp_path) == ["a", "b"] and (tmp_path / "a").read_text("utf-8") == "1"

    def rename_two(part, target):
        renamed.append(target)
        if len(renamed) == 3:
            raise OSError(errno.EIO, "Input/output error")
        replace(part, target)

    monkeypatch.setattr(os, "replace", rename_two)
    with pytest.raises(fp.FileError, match="d cannot be written.* What was there is as it was"):
        files.write_all({tmp_path / name: "2" for name in "acd"})
    assert names(tmp_path) == ["a", "b"] and (tmp_path / "a").read_text("utf-8") == "1"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_device_is_not_replaced_by_a_file():
    refuses(ArgumentError, "no ordinary file", files.write, "/dev/full", "text")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_a_trial_leaves_nothing_and_changes_nothing(tmp_path):
    files.write(tmp_path / "c", "before")
    then = os.stat(tmp_path / "c").st_mtime_ns
    files.check_writable(tmp_path / "c", tmp_path / "new" / "folder" / "d")
    assert names(tmp_path) == ["c"] and (tmp_path / "c").read_text("utf-8") == "before"
    assert os.stat(tmp_path / "c").st_mtime_ns == then


def test_a_trial_finds_what_writing_would(tmp_path, full_disk):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    refuses(ArgumentError, "is, or is in, a file", files.check_writable, tmp_path / "file" / "c")
    refuses(ArgumentError, "is a folder", files.check_writable, tmp_path)
    full_disk()
    refuses(fp.FileError, "cannot be written", files.check_writable, tmp_path / "new" / "c")
    assert names(tmp_path) == ["file"]


@not_root
def test_a_locked_folder_and_a_write_protected_file_are_found_and_not_replaced(tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    refuses(fp.FileError, "may write to", files.check_writable, tmp_path / "locked" / "c")
    files.write(tmp_path / "c", "before")
    (tmp_path / "c").chmod(0o444)
    for call in (files.check_writable, partial(files.write, content="after")):
        refuses(fp.FileError, "protected", call, tmp_path / "c")
    assert (tmp_path / "c").read_text("utf-8") == "before"


@pytest.mark.parametrize("path, problem", [
    ("", "is empty"), ("a\0b", "NUL"), ("n" * 256, "256 bytes"),
    ("folder/" + "n" * 300 + "/c", "300 bytes"), ("~nobody-of-this-name/c", "home"),
    (None, "NoneType"), (3, "int"),
])  # fmt: skip
def test_what_can_be_no_path_is_refused(tmp_path, monkeypatch, path, problem):
    monkeypatch.chdir(tmp_path)
    for what in (files.as_path, files.check_writable, partial(fp.save, extra=1)):
        refuses(ArgumentError, problem, what, path)
    refuses(fp.CheckpointError, "checkpoint", fp.load, path)
    assert names(tmp_path) == []


def test_a_tilde_is_the_home_folder_to_write_and_to_read(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert (fp.save("~/runs/c", extra=1), fp.load("~/runs/c")) == (tmp_path / "runs" / "c", 1)
    assert fp.load(fp.save(tmp_path / ("n" * 255), extra=1)) == 1  # the longest name


@posix
def test_a_file_keeps_its_rights_and_a_new_one_has_those_that_the_umask_leaves(tmp_path):
    path = files.write(tmp_path / "c", "1")
    for rights in (0o600, 0o640, 0o664, 0o755):
        path.chmod(rights)
        assert mode(files.write(path, "2")) == rights
    before = os.umask(0)
    try:
        for mask in (0o022, 0o077, 0o002):
            os.umask(mask)
            assert mode(files.write(tmp_path / f"{mask}", "1")) == 0o666 & ~mask
    finally:
        os.umask(before)


@posix
def test_what_is_written_over_a_private_file_is_private_from_the_first_byte(tmp_path, monkeypatch):
    path = files.write(tmp_path / "c", "1")
    path.chmod(0o600)
    seen, fsync = [], os.fsync
    monkeypatch.setattr(files.os, "fsync", lambda fd: seen.append(os.fstat(fd)) or fsync(fd))
    files.write(path, "2")
    content, folder = seen  # whose names are brought onto the disk last
    assert stat.S_IMODE(content.st_mode) == 0o600 and folder.st_ino == os.stat(tmp_path).st_ino


@pytest.mark.skipif(not IS_ROOT, reason="root gives groups")
def test_a_file_of_a_group_is_not_opened_to_another_group(tmp_path, monkeypatch):
    path = files.write(tmp_path / "c", "1")
    path.chmod(0o664)
    os.chown(path, -1, 12345)
    files.write(path, "2")
    assert mode(path) == 0o664 and os.stat(path).st_gid == 12345

    def refused(*given):
        raise PermissionError

    monkeypatch.setattr(files.os, "chown", refused)
    files.write(path, "3")
    assert mode(path) == 0o644 and os.stat(path).st_gid != 12345


@posix
def test_a_link_stays_and_its_file_is_written(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "latest").symlink_to(tmp_path / "disk" / "c")
    for text in ("1", "2"):  # one to a file that is not there yet, too
        files.write(tmp_path / "latest", text)
        assert (tmp_path / "latest").is_symlink()
        assert (tmp_path / "disk" / "c").read_text("utf-8") == text
    assert names(tmp_path) == ["disk", "disk/c", "latest"]


def test_what_a_killed_process_left_goes_when_it_is_old_and_a_users_own_part_stays(tmp_path):
    old, young = (tmp_path / f"minifp-{digit * 16}.part" for digit in "ab")
    for part in (old, young):
        part.write_text("half", encoding="utf-8")
    hours_ago = time.time() - 2 * files.FORGOTTEN
    os.utime(old, (hours_ago, hours_ago))
    files.write(tmp_path / "c", "1")
    assert names(tmp_path) == sorted([young.name, "c"])
    mine = tmp_path / "c.part"
    mine.write_text("mine", encoding="utf-8")
    files.write(tmp_path / "c", "1")
    assert mine.read_text("utf-8") == "mine"


def test_two_writers_of_one_path_do_not_meet(tmp_path, monkeypatch):
    """Both are in the middle of writing when the first one ends."""
    both, fsync = threading.Barrier(2), os.fsync
    monkeypatch.setattr(files.os, "fsync", lambda fd: both.wait(timeout=30) and None or fsync(fd))
    contents = "1" * 100, "2" * 50
    at_once(*(partial(files.write, tmp_path / "c", content) for content in contents))
    assert (tmp_path / "c").read_text("utf-8") in contents
    assert names(tmp_path) == ["c"]


def test_nothing_is_written_by_another_way():
    """What is downloaded and unpacked has a cache of its own, and goes there whole or not at all; a
    buffer in memory is no file, nor is what the kernel calls one."""
    ways = (
        r'\bopen\([^)]*"[wxa]b?\+?"',
        *(r"\.write_(text|bytes)\(", r"\.savefig\((?!content|text)", r"np\.save\w*\((?!\s*out)"),
    )
    root = Path(fp.__file__).parent
    texts = {p.relative_to(root).as_posix(): p.read_text("utf-8") for p in root.rglob("*.py")}
    found = {name for name, text in texts.items() if re.search("|".join(ways), text)}
    cached = {"data/archives.py", "data/downloads.py"}
    assert found == {"saving/files.py", "lab/capacity/trial.py", *cached}


@pytest.fixture
def everything(monkeypatch):
    pytest.importorskip("matplotlib")
    only_picture(monkeypatch)
    monkeypatch.setattr("minifp.scope.findings.Findings._page", lambda *given: "a page")
    monkeypatch.setattr("minifp.scope.findings.Findings._png", lambda *given: b"a picture")
    model = fp.nn.Linear(4, 3)
    optimizer = fp.MixedOptimizer(fp.optim.SGD(model.parameters(), lr=0.1))
    with fp.microscope(model, optimizer, progress=False) as scope:
        optimizer.minimize(model(fp.ones(2, 4)).sum())
    comparison = fp.compare(blobs(steps=2), ["float32"], seeds=1, progress=False)
    return {
        "checkpoint": lambda folder: fp.save(folder / "c", model, optimizer),
        "npz": lambda folder: scope.save(folder / "scope.npz"),
        "findings": lambda folder: scope.write(folder, progress=False),
        "json, csv": comparison.save,
        "html": lambda folder: comparison.report(folder / "report.html"),
        **{"png": comparison.figures, "svg": lambda folder: comparison.figures(folder, "svg")},
        "pdf": lambda folder: comparison.figures(folder, "pdf"),
    }


def test_a_full_disk_leaves_nothing_half_written_of_any_kind(tmp_path, everything, full_disk):
    full_disk()
    for kind, write in everything.items():
        refuses(fp.FileError, "No space left", write, tmp_path / "new" / kind)
    assert names(tmp_path) == []
