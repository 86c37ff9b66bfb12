"""A notebook that was run, as a page in the style of all of minifp's: it fetches nothing.

nbconvert writes the cells; formulas become MathML, which browsers set by themselves, in a font that
a page brings if it has one: on many machines there is none that can raise an exponent properly.
math.woff2 is Noto Sans Math 5.3 as @fontsource has it on npm, cut down by fontTools to Latin and
Greek letters, digits and common operators, with its tables for formulas; its licence is beside it.
"""

import base64
import re
from html import unescape
from pathlib import Path

import nbformat
from latex2mathml.converter import convert
from markupsafe import Markup
from nbconvert import HTMLExporter

from minifp.report.document import document
from minifp.teach import glossary

STYLE = Markup(Path(__file__).with_name("page.css").read_text(encoding="utf-8"))
FONT = Path(__file__).with_name("math.woff2")
FORMULA = re.compile(r"(?<![\\$`])\$([^$\n]+)\$(?!\$)")
TEMPLATE = """{% extends "basic/index.html.j2" %}
{% block input_group %}{% if "hide-input" in cell.metadata.get("tags", ()) -%}
<details><summary>The code</summary>{{ super() }}</details>
{%- else %}{{ super() }}{% endif %}{% endblock input_group %}"""
FRAMED = re.compile(r"""srcdoc=(["'])(.*?)\1""", re.S)  # nbconvert has its own quotes
SCRIPT = re.compile(r"<script>(.*?)</script>", re.S)
HEADING = re.compile(r'(?<=<h\d id=")[^"]+|(?<=class="anchor-link" href=")[^"]+')  # as links say
CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.S)


def page(notebook: nbformat.NotebookNode) -> Markup:
    """The page of a notebook."""
    shown = nbformat.from_dict(notebook)
    for cell in shown.cells:
        if cell.cell_type == "markdown":
            cell.source = with_formulas(with_links(cell.source))
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "text/markdown" in data:
                data["text/markdown"] = with_formulas(with_links(data["text/markdown"]))
    exporter = HTMLExporter(template_name="basic", raw_template=TEMPLATE)
    cells, _ = exporter.from_notebook_node(shown)
    cells = cells.replace("<pre>", '<pre tabindex="0">')  # which may scroll: by keys as well
    cells = HEADING.sub(lambda found: found[0].lower(), cells)
    article = Markup("<article>{}</article>").format(Markup(cells))  # of the project's notebooks
    style = STYLE + (of_formulas() if "<math" in cells else "")
    return document(title_of(notebook), article, style, framed=scripts_in_frames(cells))


def of_formulas() -> Markup:
    """The style of formulas, with their font in it."""
    font = base64.b64encode(FONT.read_bytes()).decode()
    return Markup(
        '@font-face {{ font-family: "Math of minifp"; '
        'src: url("data:font/woff2;base64,{}") format("woff2"); }}\n'
        '.minifp math {{ font-family: "Math of minifp", math; }}\n'
    ).format(font)


def scripts_in_frames(cells: str) -> list[str]:
    """The scripts of pages that stand in frames: those of comparisons and the microscope."""
    pages = [unescape(page) for _, page in FRAMED.findall(cells)]
    return [script for page in pages for script in SCRIPT.findall(page)]


def title_of(notebook: nbformat.NotebookNode) -> str:
    """Its first heading."""
    title = re.search(r"^# (.+)$", notebook.cells[0].source, re.M)
    return title[1] if title else "minifp"


def with_links(text: str) -> str:
    """Markdown whose links to the glossary lead to its page, beside this one."""
    return glossary.beside(text, "glossary.html")


def with_formulas(text: str) -> str:
    """Markdown with its $formulas$ as MathML; what stands in code stays."""
    parts = CODE.split(text)
    parts[::2] = [FORMULA.sub(lambda found: convert(found[1]), part) for part in parts[::2]]
    return "".join(parts)
