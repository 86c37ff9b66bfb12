"""What the runs of one seed saved, arm by arm: pictures and sounds to compare, texts, names of the
rest."""

import base64
from dataclasses import dataclass
from pathlib import PurePosixPath

from markupsafe import Markup

from minifp.errors import DataError
from minifp.lab import attachments
from minifp.report.markup import code, paragraph
from minifp.runtime import untrusted
from minifp.saving import files

KINDS = {".png": "image/png", ".wav": "audio/wav", ".txt": "text/plain"}
LONGEST = 2000  # characters of a text that is shown
LARGEST = 2**20  # bytes of a picture or a sound that is put into the page


@dataclass(frozen=True)
class Sample:
    """One thing that a run saved: the name of its file, and its content, or None for a lost one."""

    arm: str
    file: str
    content: bytes | None

    @property
    def kind(self) -> str:
        """What a browser calls it; "" for what it cannot show."""
        return KINDS.get(PurePosixPath(self.file).suffix, "")


def parts(comparison) -> list:
    """Nothing where no run saved anything."""
    seeds = sorted(run.seed for run in comparison.runs if run.kept)
    if not seeds:
        return []
    runs = [run for arm in comparison.precisions for run in comparison.runs_of(arm)]
    runs = [run for run in runs if run.seed == seeds[0] and run.kept]
    others = " Other seeds are in the folder." if len({*seeds}) > 1 else ""
    about = f"Of the runs with seed {seeds[0]}, after their last evaluation.{others}"
    names = dict.fromkeys(name for run in runs for name in run.kept)
    return [paragraph(about), *(side_by_side(comparison, name, runs) for name in names)]


def side_by_side(comparison, name, runs) -> Markup:
    """The same of each arm that has it."""
    samples = [sample_of(comparison, run, name) for run in runs if name in run.kept]
    cell = Markup('<figure class="kept">\n{}\n<figcaption>{}</figcaption>\n</figure>').format
    cells = Markup("\n").join(cell(html(name, one), code(one.arm)) for one in samples)
    return Markup('<h3>{}</h3>\n<div class="kept-row">\n{}\n</div>').format(name, cells)


def sample_of(comparison, run, name) -> Sample:
    """What a run saved by a name, from its folder if it is there."""
    value = run.kept[name]
    if comparison.out is None:
        return Sample(run.precision, *attachments.contents(name, value))
    try:
        content = files.read_within(comparison.out, value, untrusted.LARGEST)
    except DataError:
        content = None
    return Sample(run.precision, value, content)


def html(name, one: Sample) -> Markup:
    """One of them: itself, or where it is."""
    if one.content is None:
        return paragraph(f"{one.file} no longer exists")
    if not one.kind or (one.kind != "text/plain" and len(one.content) > LARGEST):
        return paragraph(code(one.file))
    if one.kind == "text/plain":
        text = one.content.decode("utf-8", "replace")
        more = f"\n… {len(text) - LONGEST:,} characters more" if len(text) > LONGEST else ""
        return Markup('<pre tabindex="0">{}</pre>').format(text[:LONGEST] + more)
    data = f"data:{one.kind};base64,{base64.b64encode(one.content).decode()}"
    picture = Markup('<img src="{}" alt="{}">')
    sound = Markup('<audio controls preload="none" src="{}" aria-label="{}"></audio>')
    return (sound if one.kind == "audio/wav" else picture).format(data, f"{name}, {one.arm}")
