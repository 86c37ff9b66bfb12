"""The frame of a page, a file that fetches nothing; and of what stands inside a notebook."""

import base64
import hashlib
from collections.abc import Iterable

from markupsafe import Markup

from minifp.report.markup import check, part
from minifp.report.styles import CSS, IN_NOTEBOOKS

SWITCH = Markup('<button type="button" class="theme" hidden>Colours: auto</button>')
NOTHING = Markup()


def document(
    title: str,
    content: Markup,
    style: Markup = NOTHING,
    script: Markup = NOTHING,
    framed: Iterable[str] = (),
) -> Markup:
    """A complete page. Its policy forbids it to fetch anything, even by mistake.

    style: rules of its own, beside those of all pages. script: one that it runs at its end, with
    that of all pages, which switches colours; the policy allows no other but those of pages in
    frames, `framed`. Raises TypeError for content, style or script that is not Markup.
    """
    check(content, style, script)
    script = part("theme.js") + script
    hashes = " ".join(f"'sha256-{hash_of(text)}'" for text in dict.fromkeys((script, *framed)))
    return Markup(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:; "
        'font-src data:; script-src {}">\n'
        '<link rel="icon" href="data:,">\n'
        "<title>{}</title>\n<style>\n{}{}body {{ margin: 0; }}\n</style>\n"
        '</head>\n<body class="minifp">\n<main>\n{}\n{}\n</main>\n'
        "<script>{}</script>\n</body>\n</html>\n"
    ).format(Markup(hashes), title, Markup(CSS), style, SWITCH, content, script)


def hash_of(script: str) -> str:
    """The SHA-256 of a script in base 64, by which a policy names it."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def embedded(content: Markup, style: Markup = NOTHING, kind: str = "") -> Markup:
    """Content in a <div> that brings its style, touches nothing outside, and is dark where the
    notebook is. kind: a class of it. Raises TypeError for content or style that is not Markup."""
    check(content, style)
    classes = f"minifp {kind}".rstrip()
    return Markup(
        '<style>\n{}{}{}</style>\n<div class="{}" data-theme="host">\n{}\n</div>\n'
    ).format(Markup(CSS), Markup(IN_NOTEBOOKS), style, classes, content)
