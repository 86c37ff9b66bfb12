"""Kernels are loaded only from files that root or the user owns, and nobody else can write."""

import os
import stat
from pathlib import Path

import pytest

from minifp.runtime import callers, trusted
from minifp.runtime.cpu.compile import kernel_cache

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
    from minifp.runtime.cpu.compile.numba_cache import Files

    kernel_cache.keep("new", b"of mine")
    assert (kernel_cache.kept("key"), kernel_cache.kept("new")) == (b"code", b"of mine")
    Files(shared / CODE, "kernel").save("types", "numba's")
    own = Files(shared.parent / "own" / CODE, "kernel", [shared / CODE])
    assert own.load("types") == "numba's" and not (shared / CODE / "new.o").exists()


ATTACKS = {
    "others may write to the cache": lambda key: key.parents[2].chmod(0o777),
    "others may write to a folder": lambda key: key.parent.chmod(0o775),
    "others may write to a file": lambda key: key.chmod(0o646),
    "a folder is a link": lambda key: key.parent.symlink_to(key.parent.rename(f"{key.parent}x")),
    "a file is a link": lambda key: key.symlink_to(key.rename(key.with_name("x"))),
    "a file is a pipe": lambda key: os.mkfifo(key.rename(key.with_name("x")).with_name("key.o")),
}
OWNED = {"another owns a folder": stat.S_ISDIR, "another owns a file": stat.S_ISREG}


@pytest.mark.parametrize("attack", [*ATTACKS, *OWNED])
def test_kernels_that_others_may_have_written_are_passed_over(attack, shared, monkeypatch):
    def owned(number, fstat=os.fstat):
        of = fstat(number)  # its fifth number is the owner; 0 is root
        return os.stat_result((*of[:4], 54321 * OWNED[attack](of.st_mode), *of[5:]))

    monkeypatch.setattr(kernel_cache, "_keep_others_out", lambda folder: None)  # as of root's
    if attack in OWNED:
        monkeypatch.setattr(os, "fstat", owned)
    ATTACKS.get(attack, str)(shared / CODE / "key.o")
    with pytest.warns(RuntimeWarning, match="passed over.*remove"):
        assert kernel_cache.kept("key") is None
    assert kernel_cache.kept("key") is None  # with no second warning, which would be an error


def test_ones_own_folders_of_former_versions_are_taken_from_others(shared):
    for path in (shared / CODE, shared / CODE.parent, shared):
        path.chmod(0o775)
    kernel_cache._keep_others_out.cache_clear()
    assert kernel_cache.kept("key") is None and not (shared / CODE).exists()
    assert not any(path.stat().st_mode & trusted.OTHERS for path in (shared, shared / CODE.parent))
