"""What commands say of the report and the pictures that they have written, or could not write."""

from pathlib import Path

import click

from minifp.report import drawing


def picture_format(figures: str) -> str | None:
    """The format, or None where pictures are not wanted or cannot be drawn."""
    return figures if figures != "none" and drawing.is_available() else None


def pictured(out, figures, **how) -> dict:
    """The options of a command as arguments of what it calls: figures are drawn where there is a
    folder and matplotlib; if more is said of them, its lack is an error there."""
    is_said = figures != "none" and any(how.get(name) for name in ("style", "width", "font"))
    drawn = figures if is_said else picture_format(figures)
    return {"out": out, "figures": drawn if out else None, **how}


def show(result, page: str, out=None, figures: str = "png", **how) -> None:
    """Print what a result has to say, and where its page is, which is in `out`."""
    click.echo(result.table())
    click.echo("\n" + where(Path(out) / page if out else None, figures))


def where(report: Path | None, figures: str = "png") -> str:
    """The last lines: where the results are, and how to get what is not there."""
    if report is None:
        return (
            "Nothing was saved: --out DIR writes a report, pictures and all numbers into a folder."
        )
    hint = [] if figures == "none" or drawing.is_available() else [drawing.HOW_TO_GET]
    return "\n".join([*hint, f"Report: {report}"])
