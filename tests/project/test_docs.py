"""docs/: every function that they name exists, and the map of rooms is the law's."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from loading import script
from test_layout import ROOMS, modules, tree

import minifp as fp
from minifp import data, models, nn, optim

ROOT = Path(__file__).resolve().parents[2]
PAPERS = {path.name: path.read_text("utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
ARCHITECTURE = PAPERS["architecture.md"]
# What names of variables stand for, in texts.
KNOWN = {"fp": fp, "F": nn.functional, "nn": nn, "optim": optim, "data": data, "models": models}
KNOWN |= {"optimizer": fp.MixedOptimizer, "scope": fp.Microscope, "result": fp.StepResult}
KNOWN |= {"Tensor": fp.Tensor, "x": fp.Tensor, "p": fp.Tensor, "model": nn.Module}
KNOWN |= {"loss": fp.Tensor, "MixedOptimizer": fp.MixedOptimizer, "StepResult": fp.StepResult}
SUFFIXES = (".py", ".cu", ".npz", ".html", ".json", ".csv", ".tex", ".sh", ".txt", ".png")


def named(text):
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S))


def dotted(text):
    words = [re.match(r"([A-Za-z_]\w*(?:\.\w+)+)(?:\(.*\)?)?$", word) for word in named(text)]
    return [word[1] for word in words if word and not word[1].endswith(SUFFIXES)]


@cache
def names_of(node):
    """What a module or a class defines, imports or assigns, a class in its methods too."""
    if not isinstance(node, ast.Module | ast.ClassDef):
        return {}
    names = {}
    for part in node.body:
        if isinstance(part, ast.ClassDef | ast.FunctionDef):
            names[part.name] = part
        else:
            names |= {target.id: part for target in ast.walk(part) if is_assigned(target, ast.Name)}
        if isinstance(node, ast.ClassDef) and isinstance(part, ast.FunctionDef):
            written = (n for n in ast.walk(part) if is_assigned(n, ast.Attribute))
            names |= {target.attr: part for target in written}
    return names


def is_assigned(node, kind):
    return isinstance(node, kind) and isinstance(node.ctx, ast.Store)


def classes(name):
    paths = [p for p in modules().values() if f"\nclass {name}" in p.read_text(encoding="utf-8")]
    nodes = [node for path in paths for node in tree(path).body if isinstance(node, ast.ClassDef)]
    return [node for node in nodes if node.name == name]


def is_in_source(parts):
    """Whether a dotted name leads from the stem of a module, or from a class, to what is there."""
    first, *others = parts
    stems = [path for module, path in modules().items() if module.rpartition(".")[2] == first]
    starts = [*map(tree, stems), *classes(first)]
    for part in others:
        starts = [names_of(node)[part] for node in starts if part in names_of(node)]
    return bool(starts)


def is_public(parts):
    thing = KNOWN.get(parts[0])
    for part in parts[1:]:
        if isinstance(thing, property):  # what it will be is not known here
            return True
        thing = getattr(thing, part, None)
    return thing is not None


@pytest.mark.parametrize("paper", PAPERS)
def test_every_function_that_is_named_exists(paper):
    names = [name.split(".") for name in dotted(PAPERS[paper])]
    assert not [".".join(n) for n in names if not (is_public(n) or is_in_source(n))]


def test_the_map_of_rooms_is_that_of_the_law():
    lines = ARCHITECTURE[ARCHITECTURE.index("| room |") :].split("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in lines]
    assert {row[0]: row[-1] for row in rows} == {name: room[0] for name, room in ROOMS.items()}
    assert len(dotted(ARCHITECTURE)) > 40  # names


def test_the_picture_of_the_rooms_has_the_arrows_that_are_there():
    pytest.importorskip("matplotlib")
    svg = (ROOT / "docs" / "rooms.svg").read_text(encoding="utf-8")
    drawn = re.search(r"<dc:description>(.*?)</dc:description>", svg)[1]
    now = script("draw_rooms").described()
    assert drawn == now, "draw it again: python scripts/draw_rooms.py"
