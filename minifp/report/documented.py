"""Results that show themselves, by the Document that each of them has."""

import os
from pathlib import Path

from minifp.report import rendering
from minifp.report.content import Document
from minifp.report.look import SCREEN, Look
from minifp.saving import files


class Shown:
    """What shows itself: all that it needs to have is `document`."""

    def document(self) -> Document:
        """All that is shown of it."""
        raise NotImplementedError

    def table(self) -> str:
        """Everything as plain text."""
        return rendering.terminal(self.document())

    def __repr__(self):
        return self.table()

    def _repr_html_(self) -> str:
        return rendering.card(self.document())


class Documented(Shown):
    """A result that also writes itself."""

    def save(
        self, folder: str | os.PathLike, figures: str | None = None, look: Look = SCREEN
    ) -> list[Path]:
        """Write the numbers (JSON, CSV), the tables (Markdown) and the page (HTML), and with
        figures="png", "svg" or "pdf" the pictures. look: how those look that heed it, as charts
        do; others are as on a screen. Returns the paths."""
        folder = files.as_path(folder)
        texts = rendering.contents(self.document(), figures, look)
        files.write_into(folder, {folder / name: text for name, text in texts.items()})
        return [folder / name for name in texts]
