"""The frame of a page, a file that fetches nothing; and of what stands inside a notebook."""

import base64
import hashlib
from collections.abc import Iterable
from html import escape

from minifp.report.chart_markup import part
from minifp.report.styles import CSS, IN_NOTEBOOKS

SWITCH = '<button type="button" class="theme" hidden>Colours: auto</button>'


def document(
    title: str, content: str, style: str = "", script: str = "", framed: Iterable[str] = ()
) -> str:  # fmt: skip
    """A complete page. Its policy forbids it to fetch anything, even by mistake.

    style: rules of its own, beside those of all pages. script: one that it runs at its end, with
    that of all pages, which switches colours; the policy allows no other but those of pages in
    frames, `framed`.
    """
    script = part("theme.js") + script
    hashes = " ".join(f"'sha256-{hash_of(text)}'" for text in dict.fromkeys((script, *framed)))
    allowed = f"; script-src {hashes}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:; "
        f'font-src data:{allowed}">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>\n{CSS}{style}body {{ margin: 0; }}\n</style>\n"
        f'</head>\n<body class="minifp">\n<main>\n{SWITCH}\n{content}\n</main>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def hash_of(script: str) -> str:
    """The SHA-256 of a script in base 64, by which a policy names it."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def embedded(content: str, style: str = "", kind: str = "") -> str:
    """Content in a <div> that brings its style, touches nothing outside, and is dark where the
    notebook is. kind: a class of it."""
    classes = f"minifp {kind}".rstrip()
    return (
        f"<style>\n{CSS}{IN_NOTEBOOKS}{style}</style>\n"
        f'<div class="{classes}" data-theme="host">\n{content}\n</div>\n'
    )
