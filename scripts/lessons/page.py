"""A notebook that was run, as a page in the style of all of minifp's: it fetches nothing.

nbconvert writes the cells; formulas become MathML, which browsers set by themselves.
"""

import re
from html import unescape
from pathlib import Path

import nbformat
from latex2mathml.converter import convert
from nbconvert import HTMLExporter

from minifp.report.document import document

STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
FORMULA = re.compile(r"(?<![\\$`])\$([^$\n]+)\$(?!\$)")
FRAMED = re.compile(r"""srcdoc=(["'])(.*?)\1""", re.S)  # nbconvert has its own quotes
SCRIPT = re.compile(r"<script>(.*?)</script>", re.S)
CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.S)


def page(notebook: nbformat.NotebookNode) -> str:
    """The page of a notebook."""
    shown = nbformat.from_dict(notebook)
    for cell in shown.cells:
        if cell.cell_type == "markdown":
            cell.source = with_formulas(cell.source)
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "text/markdown" in data:
                data["text/markdown"] = with_formulas(data["text/markdown"])
    cells, _ = HTMLExporter(template_name="basic").from_notebook_node(shown)
    cells = cells.replace("<pre>", '<pre tabindex="0">')  # which may scroll: by keys as well
    article = f"<article>{cells}</article>"
    return document(title_of(notebook), article, STYLE, framed=scripts_in_frames(cells))


def scripts_in_frames(cells: str) -> list[str]:
    """The scripts of pages that stand in frames: those of comparisons and the microscope."""
    pages = [unescape(page) for _, page in FRAMED.findall(cells)]
    return [script for page in pages for script in SCRIPT.findall(page)]


def title_of(notebook: nbformat.NotebookNode) -> str:
    """Its first heading."""
    title = re.search(r"^# (.+)$", notebook.cells[0].source, re.M)
    return title[1] if title else "minifp"


def with_formulas(text: str) -> str:
    """Markdown with its $formulas$ as MathML; what stands in code stays."""
    parts = CODE.split(text)
    parts[::2] = [FORMULA.sub(lambda found: convert(found[1]), part) for part in parts[::2]]
    return "".join(parts)
