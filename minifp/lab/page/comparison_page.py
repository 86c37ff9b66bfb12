"""One page of HTML: everything in one file, no script, no network; light and dark, wide and narrow.

`fragment` is the same for a notebook: a <div> that brings its style and touches nothing outside.
"""

import hashlib
from html import escape
from pathlib import Path

from minifp.lab.page import page_tables, sections, verdicts
from minifp.lab.page.table import text_table
from minifp.report.markup import paragraph, section
from minifp.report.styles import CSS
from minifp.saving import files

# ---- whole pages --------------------------------------------------------------------------------


def write_page(comparison, path) -> Path:
    """Write the page of a comparison, aside first, and return its path."""
    title = f"{comparison.task.name}: {verdicts.headline(comparison)}"
    return files.write(path, document(title, body(comparison)))


def document(title, content, script_hash="", script="") -> str:
    """A complete page. The policy forbids it to fetch anything, even by mistake.

    script: one that it runs at its end; script_hash: its SHA-256 in base 64, by which it may.
    """
    allowed = f"; script-src 'sha256-{script_hash}'" if script else ""
    at_the_end = f"<script>{script}</script>\n" if script else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta http-equiv="Content-Security-Policy" '
        f"content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:{allowed}\">\n"
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>\n{CSS}body {{ margin: 0; }}\n</style>\n"
        f'</head>\n<body class="minifp">\n<main>\n{content}\n</main>\n{at_the_end}'
        "</body>\n</html>\n"
    )


def fragment(comparison) -> str:
    """The same inside a notebook; its ids cannot meet those of another comparison."""
    prefix = "m" + hashlib.sha256(text_table(comparison).encode()).hexdigest()[:8]
    content = body(comparison, prefix)
    return f'<style>\n{CSS}</style>\n<div class="minifp"><main>\n{content}\n</main></div>\n'


def body(comparison, prefix="m") -> str:
    """What a page and a notebook share: the answer first, then what it rests on."""
    c = comparison
    parts = (
        sections.heading(c),
        sections.verdict_list(c),
        sections.notes(c),
        section(
            "How they got there",
            sections.figure(c, "loss", prefix),
            page_tables.evaluation_table(c),
        ),
        section(
            "Where they end", sections.figure(c, "difference", prefix), page_tables.final_table(c)
        ),
        section(
            "The loss scale",
            paragraph(sections.scale_note(c)),
            sections.figure(c, "scale", prefix),
            page_tables.scale_table(c),
        ),
        section("What it costs", sections.figure(c, "memory", prefix), page_tables.cost_table(c)),
        section("Run by run", page_tables.run_table(c)),
        section("How to do it again", sections.again(c)),
        section("Machine and settings", sections.machine(c)),
    )
    return "\n".join(part for part in parts if part)
