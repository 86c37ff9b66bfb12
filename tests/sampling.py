"""Which cases of a long range are run: those of its core, and a sample drawn by the commit.

A test that ranges over more cases than each change needs is marked `sampled(n, core=...)`: one case
in n is drawn, beside those whose parameters `core` says yes to. A test that ranges over cases by
itself asks the fixture `drawn` for them. All are run by `--exhaustive`, and of a test that is named
on the command line (`tests/file.py::test`).

The draw depends on a seed and a case's own name, so it is the same in every process and order. The
seed is that of the commit, or of the sources where there is no git: another commit draws others.
MINIFP_SAMPLE_SEED repeats the draw whose seed the first lines of a run show.
"""

import hashlib
import os
import subprocess
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = "MINIFP_SAMPLE_SEED"


def pytest_addoption(parser):
    parser.addoption("--exhaustive", action="store_true", help="run every case of sampled ranges")


def pytest_configure(config):
    os.environ.setdefault(ENVIRONMENT, seed_of(ROOT))  # which workers of xdist inherit


def pytest_report_header(config):
    if takes_all(config):
        return "sample: every case"
    seed = os.environ[ENVIRONMENT]
    return f"sample: {ENVIRONMENT}={seed} repeats it, --exhaustive runs every case"


def pytest_collection_modifyitems(config, items):
    """Leave out what is neither of a core nor drawn."""
    if takes_all(config):
        return
    seed = os.environ[ENVIRONMENT]
    drawn, others = [], []
    for item in items:
        (drawn if is_taken(item, seed) else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = drawn


def takes_all(config):
    """Whether every case was asked for, or a test by its name."""
    return config.getoption("--exhaustive") or any("::" in arg for arg in config.args)


def is_taken(item, seed):
    """Whether a test is run: it is not sampled, or of the core, or drawn."""
    mark = item.get_closest_marker("sampled")
    if mark is None:
        return True
    (one_in,), core = mark.args, mark.kwargs["core"]
    return core(**item.callspec.params) or number_of(seed, item.nodeid) % one_in == 0


@pytest.fixture
def drawn(request):
    """Chooses cases inside of a test: see `drawn_of`."""
    seed = None if takes_all(request.config) else os.environ[ENVIRONMENT]
    return partial(drawn_of, seed, request.node.nodeid)


def drawn_of(seed, nodeid, cases, one_in, core=(), of=""):
    """The cases in `core`, and of the others one in so many; without a seed all of them.

    A test that draws from the same cases several times says by `of` what each draw is for.
    """
    return [
        case
        for case in cases
        if seed is None or case in core or number_of(seed, nodeid, of, str(case)) % one_in == 0
    ]


def number_of(*words):
    """A number that words are always given, and that others are hardly ever."""
    return int.from_bytes(hashlib.sha256(" ".join(words).encode()).digest()[:8], "big")


def seed_of(root):
    """The commit's first letters, or those of a hash of the sources where there is no git."""
    command = ["git", "-C", str(root), "rev-parse", "--short=12", "HEAD"]
    try:
        if (root / ".git").exists():
            return subprocess.run(
                command, capture_output=True, text=True, check=True
            ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        pass  # no git, or no commit
    digest = hashlib.sha256()
    for folder in ("minifp", "tests"):
        for path in sorted((root / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
