"""The wings of the gallery, and finding what hangs in them by name."""

from minifp.lab.exhibits import (
    classification,
    detection,
    gan,
    language,
    residual,
    skips,
    speech,
    translation,
)
from minifp.lab.exhibits.exhibit import SCALES, Exhibit
from minifp.lab.task import Task

WINGS = {
    "classification": classification.EXHIBITS,
    "detection": detection.EXHIBITS,
    "speech": speech.EXHIBITS,
    "translation": translation.EXHIBITS,
    "language": language.EXHIBITS,
    "gan": gan.EXHIBITS,
    "whole": residual.EXHIBITS,
    "scaling": (*skips.EXHIBITS, detection.BATHTUB),
}
UNASKED = "evening"  # the scale where none is given


def known() -> dict[str, Exhibit]:
    """All exhibits by their names."""
    return {exhibit.name: exhibit for wing in WINGS.values() for exhibit in wing}


def task_named(spec: str) -> Task | None:
    """The task that "vgg-d:quick" means, that of an exhibit at a scale; None where it means none.

    Without a scale it is that of UNASKED.
    """
    name, _, scale = spec.partition(":")
    exhibit = known().get(name)
    if exhibit is None or scale not in ("", *SCALES):
        return None
    return exhibit.task(scale or UNASKED)


def spec_of(exhibit: Exhibit, scale: str) -> str | None:
    """By what `task_named` finds the task of an exhibit; None for one that hangs in no wing."""
    return f"{exhibit.name}:{scale}" if known().get(exhibit.name) is exhibit else None
