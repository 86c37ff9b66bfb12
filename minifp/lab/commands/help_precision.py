"""What `minifp help precision` prints, made of the tables by which the texts are read."""

from textwrap import wrap

from minifp.numerics import precision_names, products
from minifp.numerics.autocast import CHOICES
from minifp.numerics.formats import names
from minifp.numerics.loss_scale_text import KINDS
from minifp.numerics.loss_scale_text import MEANINGS as OF_SCALES
from minifp.numerics.number_format import MEANINGS as OF_FORMATS
from minifp.numerics.number_format import OPERAND_FORMATS, Format
from minifp.numerics.policy import LEVELS, NAMED, SINGLE
from minifp.numerics.precision_grammar import GRAMMAR, Pair, written, written_pair
from minifp.numerics.precision_parts import SHARED
from minifp.numerics.switches import STORAGE, STORAGE_FIELDS, TABLE
from minifp.report.plain_text import WIDTH, entries

EXAMPLES = (
    "mixed",
    "mixed,loss_scale=dynamic+growth_interval=100",
    "autocast,softmax=float16",
    f"float16,{products.EXAMPLE}",
    '"mixed;fc*=float32;lstm=bfloat16,reduce=float16"',
    f'"float16;fc*.{products.EXAMPLE}"',
)


def text() -> str:
    """The grammar of precisions, and all their words with values, defaults, meanings, examples."""
    parts = grammar(), named(), switches(), scales(), formats(), of_products(), of_modules()
    return "\n\n".join("\n".join(part) for part in parts)


def paragraph(said: str) -> list[str]:
    """The lines of a paragraph."""
    return wrap(said, WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def grammar() -> list[str]:
    """What stands where."""
    return [
        "A precision is a name, perhaps with changes of the whole and parts for single modules:",
        "",
        *(f"  {line}" for line in GRAMMAR.splitlines()),
        "",
        *(f"  {line}" for line in EXAMPLES),
        "",
        "Later changes and parts win. In a shell, texts with ; or * need quotes.",
    ]


def in_short(changes: tuple[Pair, ...]) -> list[Pair]:
    """Changes, with one of the storage in place of three that are alike."""
    stored = [pair for pair in changes if pair[0] in STORAGE_FIELDS]
    if len(stored) < len(STORAGE_FIELDS) or len({value for _, value in stored}) > 1:
        return [*changes]
    return [(STORAGE, stored[0][1]), *(pair for pair in changes if pair not in stored)]


def named() -> list[str]:
    """The names, and the changes of float32 that they stand for."""
    rows = []
    for name, precision in NAMED.items():
        changes = " ".join(map(written_pair, in_short(precision.changes(NAMED[SINGLE]))))
        rows.append((name, f"{precision_names.MEANINGS[name]}{changes and f': {changes}'}"))
    levels = f"{', '.join(LEVELS)}: Apex's levels."
    return [
        f"Names, with the switches that are not those of {SINGLE}",
        *entries(rows),
        f"  {levels}",
    ]


def switches() -> list[str]:
    """Each switch with one of its values, what it decides, what it may be, and its default."""
    rows = [(f"{STORAGE}=float16", f"all of {', '.join(STORAGE_FIELDS)}")]
    for name, (decides, values, example) in TABLE.items():
        plain = written(getattr(NAMED[SINGLE], name))
        rows.append((written_pair((name, example)), f"{decides}: {values.brief} [{plain}]"))
    rows.append(("softmax=float16", f"under autocast, one operation: {', '.join(CHOICES)}"))
    return [f"Switches, each with a value, and in brackets that of {SINGLE}", *entries(rows)]


def scales() -> list[str]:
    """The settings of the adaptive loss scales."""
    defaults = {name: value for settings in KINDS.values() for name, value in settings.items()}
    rows = []
    for name, value in defaults.items():
        kinds = [kind for kind, settings in KINDS.items() if name in settings]
        only = f" ({kinds[0]})" if len(kinds) == 1 else ""
        rows.append((f"{name}={value:.10g}", OF_SCALES[name] + only))
    return [f"Settings of {' and '.join(KINDS)} loss scales, with their defaults", *entries(rows)]


def formats() -> list[str]:
    """The formats, and what the name of one may set."""
    plain = {name: getattr(Format("e5m7"), name) for name in OF_FORMATS}
    rows = [
        (name, said if plain[name] is None else f"{said} [{written(plain[name])}]")
        for name, said in OF_FORMATS.items()
    ]
    return [
        "Formats",
        *paragraph(f"{names()}; for operands also {', '.join(OPERAND_FORMATS)}."),
        "  Behind its bits, a format may have settings, as in e4m3+nan=last+saturates=on:",
        *entries(rows),
    ]


def of_products() -> list[str]:
    """The products, and their switches."""
    return [
        "Products of a layer",
        *entries([*products.MEANINGS.items()]),
        *paragraph(f"Each may have its own {', '.join(products.SWITCHES)}."),
    ]


def of_modules() -> list[str]:
    """Parts for modules."""
    return [
        "Parts for single modules",
        *paragraph(
            "A pattern is that of a module's path, with *, ? and [...]; it holds for all inside of "
            "the module. If a task trains several models, their names come before the paths."
        ),
        *paragraph(f"Only the whole has {', '.join(SHARED)}."),
    ]
