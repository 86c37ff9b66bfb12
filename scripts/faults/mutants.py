"""Faults that were drawn: which file, line and edit, and how one is planted in a checkout."""

import ast
import random
import re
from dataclasses import dataclass, fields
from pathlib import Path

from faults import cuda_sites, sites

OPERATORS = "bound", "term", "stride", "barrier", "tail", "swap", "format", "sign"
GPU = re.compile(r".*(\.cuh?|_cuda\.py)|minifp/(runtime/cuda/.*|derive/cuda)\.py")
# For each room its sources, and the folders of tests that must see a fault in them.
ROOMS = {
    "ops": ("minifp/ops", ["tests/ops"]),
    "numerics": ("minifp/numerics", ["tests/numerics"]),
    "runtime/cpu": ("minifp/runtime/cpu", ["tests/runtime", "tests/ops"]),
    "cuda": ("minifp", ["tests/cuda"]),
    "optim": ("minifp/optim", ["tests/optim"]),
    "training": ("minifp/training", ["tests/training"]),
}


@dataclass
class Mutant:
    """A fault: `old` and `new` are the whole line. The rest is what tests made of it."""

    room: str
    file: str
    line: int
    operator: str
    inside: str  # the function or kernel that it is in
    old: str
    new: str
    before: str = ""  # "killed", "timed out", "survived", or "equivalent" (`note` says why)
    killer_before: str = ""
    after: str = ""
    killer_after: str = ""
    seconds: float = 0.0  # of processor time, of the last run
    note: str = ""


COLUMNS = [field.name for field in fields(Mutant)]


def sources_of(root, room):
    """The files of a room."""
    folder = root / ROOMS[room][0]
    paths = (p for p in sorted(folder.rglob("*")) if p.suffix in (".py", ".cu", ".cuh"))
    return [p for p in paths if bool(GPU.fullmatch(named(p, root))) == (room == "cuda")]


def named(path, root):
    """A path as it is written in the list."""
    return path.relative_to(root).as_posix()


def sites_of(path, room):
    """All sites of a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return cuda_sites.sites_of(text)
    in_loops = path.stem.endswith("_numba") or room == "runtime/cpu"
    strings = cuda_sites.sites_in_strings(text) if room == "cuda" else []
    return sorted({*sites.sites_of(text, in_loops, room == "ops"), *strings})


def drawn(root, seed, count, rooms):
    """`count` mutants, as many of each room and of each operator as there are sites for."""
    draw, places = random.Random(f"faults {seed}"), {}
    for room in rooms:
        for path in sources_of(root, room):
            lines = path.read_text(encoding="utf-8").splitlines()
            for site in sites_of(path, room):
                mutant = planned(room, named(path, root), lines[site.line - 1], site)
                places.setdefault((site.operator, room), []).append(mutant)
    for bucket in places.values():
        draw.shuffle(bucket)
    mutants, lines = [], set()
    while len(mutants) < count and any(places.values()):
        for operator in OPERATORS:
            for room in rooms:
                bucket = places.get((operator, room), [])
                while bucket and not is_usable(root, bucket[-1], lines):
                    bucket.pop()
                if bucket and len(mutants) < count:
                    mutants.append(bucket.pop())
                    lines.add((mutants[-1].file, mutants[-1].line))
    return sorted(mutants, key=lambda m: (rooms.index(m.room), m.file, m.line))


def planned(room, file, line, site):
    """The mutant of a site."""
    new = line[: site.start] + site.new + line[site.stop :]
    return Mutant(room, file, site.line, site.operator, site.inside, line, new)


def is_usable(root, mutant, lines):
    """Whether a source with a fault can still be read, and there is no other in the same line."""
    if (mutant.file, mutant.line) in lines:
        return False
    changed = (root / mutant.file).read_text(encoding="utf-8").split("\n")
    changed[mutant.line - 1] = mutant.new
    try:
        return not mutant.file.endswith(".py") or bool(ast.parse("\n".join(changed)))
    except SyntaxError:
        return False


class Planted:
    """A fault in a checkout, for as long as the context lasts."""

    def __init__(self, root, mutant):
        self.path, self.mutant = Path(root) / mutant.file, mutant

    def __enter__(self):
        """Raises LookupError where the source has changed so that the line is not there."""
        self.text = self.path.read_text(encoding="utf-8")
        lines = self.text.split("\n")
        same = [i for i, line in enumerate(lines) if line == self.mutant.old]
        if not same:
            raise LookupError(f"{self.mutant.file}: no line {self.mutant.old!r}")
        nearest = min(same, key=lambda i: abs(i + 1 - self.mutant.line))
        lines[nearest] = self.mutant.new
        self.write("\n".join(lines))
        return self

    def __exit__(self, *_):
        self.write(self.text)

    def write(self, text):
        """With what Python has compiled of it, which it may take for that of the new text."""
        self.path.write_text(text, encoding="utf-8", newline="\n")
        for compiled in self.path.parent.glob(f"__pycache__/{self.path.stem}.*"):
            compiled.unlink()
