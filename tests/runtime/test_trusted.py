"""Kernels are loaded only from files that root or the user owns, and nobody else can write."""

import os
import stat
from pathlib import Path

import pytest

from minifp.runtime import callers, trusted
from minifp.runtime.cpu import kernel_cache

pytestmark = pytest.mark.skipif(not trusted.HAS_OWNERS, reason="files have no owners here")
CODE = Path("minifp-kernels", kernel_cache.CODE)


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """A cache that one may only read, with the object code of `key`; one's own is beside it."""
    monkeypatch.setenv(kernel_cache.ENVIRONMENT, str(tmp_path / "shared"))
    monkeypatch.setattr(kernel_cache, "_user_cache", lambda: tmp_path / "own")
    monkeypatch.setattr(callers, "told", {callers.EVERYWHERE: set()})
    monkeypatch.setattr(kernel_cache, "code_folder", kernel_cache.code_folder.__wrapped__)
    kernel_cache.keep("key", b"code")
    monkeypatch.setattr(kernel_cache, "_is_read_only", lambda folder: True)
    return tmp_path / "shared"


def test_a_shared_cache_is_read_and_what_is_new_goes_into_the_users_own(shared):
    pytest.importorskip("numba")
    from minifp.runtime.cpu.numba_cache import Files

    kernel_cache.keep("new", b"of mine")
    assert (kernel_cache.kept("key"), kernel_cache.kept("new")) == (b"code", b"of mine")
    assert [path.name for path in (shared.parent / "own" / CODE).iterdir()] == ["new.o"]
    Files(shared / CODE, "kernel").save("types", "numba's")
    assert Files(shared.parent / "own" / CODE, "kernel", [shared / CODE]).load("types") == "numba's"


def replace(path, make):
    path.rename(path.with_name("other"))
    make(path)


ATTACKS = {
    "others may write to the cache": lambda root: root.chmod(0o777),
    "others may write to a folder": lambda root: (root / CODE).chmod(0o775),
    "others may write to a file": lambda root: (root / CODE / "key.o").chmod(0o646),
    "a folder is a link": lambda root: replace(root / CODE, lambda p: p.symlink_to("other")),
    "a file is a link": lambda root: replace(
        root / CODE / "key.o", lambda p: p.symlink_to("other")
    ),
    "a file is a pipe": lambda root: replace(root / CODE / "key.o", os.mkfifo),
    "another owns a folder": stat.S_ISDIR,
    "another owns a file": stat.S_ISREG,
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_kernels_that_others_may_have_written_are_passed_over(attack, shared, monkeypatch):
    def owned(number, fstat=os.fstat):
        mode, *others = fstat(number)
        others[3] = 54321 * ATTACKS[attack](mode)  # the owner; 0 is root
        return os.stat_result((mode, *others))

    if "owns" in attack:
        monkeypatch.setattr(os, "fstat", owned)
    else:
        monkeypatch.setattr(kernel_cache, "_keep_others_out", lambda folder: None)  # of root's
        ATTACKS[attack](shared)
    with pytest.warns(RuntimeWarning, match="passed over.*remove") as told:
        assert kernel_cache.kept("key") is None and kernel_cache.kept("key") is None
    assert len(told) == 1


def test_ones_own_folders_of_former_versions_are_taken_from_others(shared):
    for path in (shared / CODE, shared / CODE.parent, shared):
        path.chmod(0o775)
    kernel_cache._keep_others_out.cache_clear()
    assert kernel_cache.kept("key") is None and not (shared / CODE).exists()
    assert not any(path.stat().st_mode & trusted.OTHERS for path in (shared, shared / CODE.parent))
