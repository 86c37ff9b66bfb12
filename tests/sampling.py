"""Which tests a run takes, and which cases of a long range.

`python -m pytest` takes one of each kind: in rooms that compute, one case of each test, of many
every sixteenth; in others (`BY_FILE`), whose tests take long, one test of each file; and of the
README all. `--all`, and who names files or says `-k` or `-m`, takes what a change must pass: all
but what is `nightly` (unless its own file is named), and of long ranges a sample. `--exhaustive`,
and a test that is named (`tests/file.py::test`), leaves nothing out.

A test that ranges over more cases than each change needs is marked `sampled(n, core=...)`: one case
in n is drawn, beside those whose parameters `core` says yes to. A test that ranges over cases by
itself asks the fixture `drawn` for them.

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
BY_FILE = {"cuda", "exhibits", "lab", "project", "runtime", "scope", "web"}  # folders of tests
WHOLE = "tests/project/test_readme.py"
FEW = 16  # cases of a test, of which one is taken
LONG = {"packaging", "site", "slow"}  # marks of what one of each kind does without


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="run what a change must pass")
    parser.addoption("--exhaustive", action="store_true", help="run all, every case of each range")


def pytest_configure(config):
    os.environ.setdefault(ENVIRONMENT, seed_of(ROOT))  # which workers of xdist inherit


def pytest_report_header(config):
    if takes_all(config):
        return "tests: all, every case"
    seed = f"{ENVIRONMENT}={os.environ[ENVIRONMENT]} draws the same cases again"
    kinds = "" if takes_sample(config) else "one of each kind (--all: what a change must pass); "
    return f"tests: {kinds}{seed}, --exhaustive leaves nothing out"


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config, items):
    """Leave out what this run does not take, before others change the order."""
    if not takes_all(config):
        seed, nightly = os.environ[ENVIRONMENT], "nightly" in config.option.markexpr
        taken = sample_of(items, seed, paths(config), nightly)
        taken = taken if takes_sample(config) else one_of_each(taken)
        chosen = {*taken}
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = taken
    return (yield)


def sample_of(items, seed, paths, nightly):
    """What a change must pass; with the nightly tests of the files in `paths`, or all of them."""
    return [
        item
        for item in items
        if is_taken(item, seed)
        if nightly or item.path in paths or not item.get_closest_marker("nightly")
    ]


def takes_all(config):
    """Whether every case was asked for, or a test by its name."""
    return config.getoption("--exhaustive") or any("::" in arg for arg in config.args)


def takes_sample(config):
    """Whether more than one of each kind was asked for."""
    words = config.getoption("--all"), config.option.keyword, config.option.markexpr
    return any(words) or bool(paths(config) - {ROOT, ROOT / "tests"})


def paths(config):
    return {(config.invocation_params.dir / arg).resolve() for arg in config.args}


def one_of_each(items):
    """Of each test one case in so many, and of each file whose tests take long its first test."""
    kinds = {}
    for item in items:
        if not LONG & {mark.name for mark in item.iter_markers()}:
            kinds.setdefault(kind_of(item.nodeid), []).append(item)
    taken = [kind[::FEW] if "::" in name else kind[:1] for name, kind in kinds.items()]
    return [item for few in taken for item in few]


def kind_of(name):
    """What tests have in common of which one is enough: a test's name, or a file's."""
    file, _, test = name.partition("::")
    if file == WHOLE:
        return name
    return file if file.split("/")[1] in BY_FILE else f"{file}::{test.partition('[')[0]}"


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
