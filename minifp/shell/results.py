"""What commands say of the report and the pictures that they have written, or could not write."""

from pathlib import Path

from minifp.report import drawing


def picture_format(figures: str) -> str | None:
    """The format, or None where pictures are not wanted or cannot be drawn."""
    return figures if figures != "none" and drawing.is_available() else None


def products(out, figures, style, width, font, tensorboard) -> dict:
    """The options of `options.products` as arguments of what is called."""
    looks = {"style": style, "width": width, "font": font}
    drawn = picture_format(figures) if out else None
    if out and any(looks.values()) and figures != "none":
        drawn = figures  # which is then an error where there is no matplotlib
    return {"figures": drawn, **looks, "tensorboard": tensorboard}


def where(report: Path | None, figures: str = "png") -> str:
    """The last lines: where the results are, and how to get what is not there."""
    if report is None:
        return (
            "Nothing was saved: --out DIR writes a report, pictures and all numbers into a folder."
        )
    hint = [] if figures == "none" or drawing.is_available() else [drawing.HOW_TO_GET]
    return "\n".join([*hint, f"Report: {report}"])
