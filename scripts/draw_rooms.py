"""Draw the rooms of minifp on floors: each room stands below all that import it.

    python scripts/draw_rooms.py --out docs/rooms.svg

Rooms are those of tests/project/test_layout.py; arrows are the imports that are in the code now, as
broad as they are many, with their number. Rooms that are reached through another room as well have
no arrow, but are named in the box ("also"). Takes two seconds, and needs the extra `test`.
"""

import argparse
import sys
import textwrap
from collections import Counter
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

from minifp.report import drawing
from minifp.report.drawing import MUTED, PAPER

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "project"))
from test_layout import imports, modules, room  # noqa: E402

EVERYWHERE = "words"  # what every room may import
WIDTH, HEIGHT, FLOOR, INCH = 3.3, 1.08, 1.62, 0.8  # of a box; from floor to floor; of one unit
GAP, DOOR = 0.35, 0.5  # between boxes; between arrows at an edge
FILL, EDGE = "#eef4fb", "#0072b2"
TITLES = {"words": "errors, typing, checks", "shell": "command line", "minifp": "minifp (names)"}


# ---- what is drawn ------------------------------------------------------------------------------


@cache
def arrows() -> Counter:
    """How many imports lead from one room to another: {(from, to): number}."""
    pairs = [(room(m), room(target)) for m in modules() for target, _ in imports(m)]
    return Counter((a, b) for a, b in pairs if a != b)


def described() -> str:
    """All arrows, without their numbers, as the picture's own description has them."""
    return ", ".join(f"{a} to {b}" for a, b in sorted(arrows()))


def below(name):
    """The rooms that a room imports."""
    return {b for a, b in arrows() if a == name}


@cache
def floor(name) -> int:
    """On which floor a room stands, from the top, which is 0: below all that import it."""
    return 1 + max((floor(a) for a, b in arrows() if b == name), default=-1)


@cache
def reached(name) -> frozenset:
    """The rooms that a room imports, and what they import, and so on."""
    return frozenset(below(name)).union(*map(reached, below(name)))


def shown(a, b) -> bool:
    """Whether an arrow says what no way through other rooms says."""
    return not any(b in reached(other) for other in below(a) - {b})


@cache
def drawn_arrows() -> dict:
    """The arrows that are drawn."""
    return {pair: n for pair, n in sorted(arrows().items()) if shown(*pair)}


def parts(name):
    """The folders in a room, and how many files it has."""
    files = [path for module, path in modules().items() if room(module) == name]
    home = ROOT / "minifp" / name
    folders = {p.relative_to(home).parts[0] for p in files if p.is_relative_to(home)}
    folders = sorted(f for f in folders if (home / f).is_dir() and name != "minifp")
    return folders, len(files)


# ---- where --------------------------------------------------------------------------------------


class Way(NamedTuple):
    """A place on a floor through which an arrow passes on its way further down."""

    arrow: tuple
    floor: int


def stops(a, b) -> list:
    """What an arrow goes through: the room, ways through the floors between, the other room."""
    return [a, *(Way((a, b), i) for i in range(floor(a) + 1, floor(b))), b]


def places() -> dict:
    """The middle of each room and way: floor by floor in that order which makes arrows short."""
    lines = [stops(*pair) for pair in drawn_arrows()]
    pairs = [pair for line in lines for pair in zip(line, line[1:])]
    things = sorted({thing for line in lines for thing in line}, key=str)
    floors = [[], *([] for _ in range(max(map(floor_of, things))))]
    for thing in things:
        floors[floor_of(thing)].append(thing)

    def cost(order, i):
        where = placed([*floors[:i], order, *floors[i + 1 :]])
        return sum((where[a][0] - where[b][0]) ** 2 for a, b in pairs)

    for i in [*range(len(floors)), *range(len(floors))[::-1]] * 3:
        floors[i] = min(permutations(floors[i]), key=lambda order, i=i: cost(order, i))
    return placed(floors)


def floor_of(thing):
    """The floor of a room or a way."""
    return thing.floor if isinstance(thing, Way) else floor(thing)


def placed(floors):
    """The middle of each thing, for those of each floor in their order, from left to right."""
    where = {}
    for height, things in enumerate(floors):
        widths = [GAP + (0 if isinstance(thing, Way) else WIDTH) for thing in things]
        left = -sum(widths) / 2
        for thing, width in zip(things, widths):
            where[thing] = left + width / 2, -height * FLOOR
            left += width
    return where


def doors(where):
    """Where each arrow leaves and enters: spread along the edges of the boxes.

    {(arrow, 0 or 1): x}
    """
    found = {}
    for end in (0, 1):
        for name in {pair[end] for pair in drawn_arrows()}:
            mine = [pair for pair in drawn_arrows() if pair[end] == name]
            mine.sort(key=lambda pair: where[stops(*pair)[-2 if end else 1]][0])
            for i, pair in enumerate(mine):
                found[pair, end] = where[name][0] + (i - (len(mine) - 1) / 2) * DOOR
    return found


# ---- the picture --------------------------------------------------------------------------------


def draw_arrow(axes, where, pair, ends, number):
    """An arrow from the lower edge of a box to the upper edge of another, with its number."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path as Line

    middle = [where[thing] for thing in stops(*pair)]
    points = [(ends[0], middle[0][1] - HEIGHT / 2)]
    points += [(x, y + side * HEIGHT / 2) for x, y in middle[1:-1] for side in (1, -1)]
    points += [(ends[1], middle[-1][1] + HEIGHT / 2)]
    style = {"arrowstyle": "-|>", "mutation_scale": 13, "shrinkA": 0, "shrinkB": 0}
    style |= {"color": EDGE, "linewidth": 0.8 + number**0.5 / 4, "joinstyle": "round"}
    axes.add_patch(FancyArrowPatch(path=Line(points), **style))
    (x, y), (u, v) = points[:2]
    box = {"boxstyle": "round,pad=0.12", "facecolor": PAPER, "edgecolor": "none"}
    text = {"ha": "center", "va": "center", "fontsize": 9, "color": MUTED, "bbox": box}
    axes.text(x + (u - x) * 0.4, y + (v - y) * 0.4, str(number), **text)


def draw_box(axes, at, name):
    """A room: its name, its folders and files, and what else it imports."""
    from matplotlib.patches import FancyBboxPatch

    corner = at[0] - WIDTH / 2, at[1] - HEIGHT / 2
    style = {"boxstyle": "round,pad=0,rounding_size=0.12", "facecolor": FILL, "edgecolor": EDGE}
    axes.add_patch(FancyBboxPatch(corner, WIDTH, HEIGHT, linewidth=1.1, zorder=3, **style))
    text = "\n".join(textwrap.fill(line, 45) for line in lines_about(name))
    top = at[1] - 0.09 + 0.075 * (text.count("\n") + 1)  # so that all of it is in the middle
    style = {"ha": "center", "va": "top", "zorder": 4}
    axes.text(at[0], top, text, fontsize=7.5, color=MUTED, **style)
    axes.text(at[0], top + 0.25, TITLES.get(name, name), weight="bold", fontsize=12, **style)


def lines_about(name):
    """What stands in a box below the name."""
    folders, files = parts(name)
    count = f"{files} files" if files > 1 else "1 file"
    yield f"{count}: {', '.join(folders)}" if folders else count
    others = {b: n for (a, b), n in arrows().items() if a == name and not shown(a, b)}
    others.pop(EVERYWHERE, None)
    if name == "minifp":
        yield "public names of all rooms below"
    elif others:
        yield "also " + ", ".join(f"{b} {n}" for b, n in sorted(others.items()))


def picture():
    """The figure."""
    from matplotlib.figure import Figure

    where = places()
    found = doors(where)
    xs, ys = zip(*where.values())
    width, height = max(xs) - min(xs) + WIDTH + GAP, max(ys) - min(ys) + HEIGHT + GAP
    figure = Figure(figsize=(width * INCH, height * INCH))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(min(xs) - (WIDTH + GAP) / 2, max(xs) + (WIDTH + GAP) / 2)
    axes.set_ylim(min(ys) - (HEIGHT + GAP) / 2, max(ys) + (HEIGHT + GAP) / 2)
    for (a, b), number in drawn_arrows().items():
        ends = found[(a, b), 0], found[(a, b), 1]
        draw_arrow(axes, where, (a, b), ends, number)
    for thing, at in where.items():
        if not isinstance(thing, Way):
            draw_box(axes, at, thing)
    return figure


def main():
    """Draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "rooms.svg")
    options = parser.parse_args()
    with drawing.settings():
        metadata = {"Date": None, "Description": described()}
        picture().savefig(options.out, metadata=metadata if options.out.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
