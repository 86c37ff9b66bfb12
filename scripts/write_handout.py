"""Make the handout's PDF: docs/teaching/handout.md on two pages of A4, by a headless Chromium.

    python scripts/write_handout.py --out handout.pdf

Needs the test extra (Playwright, nbconvert) and a Chromium: what is on the PATH, or Playwright's
own (python -m playwright install chromium).
"""

import shutil
import sys
from pathlib import Path

import click
from markupsafe import Markup
from nbconvert.filters import markdown2html

from minifp.report.document import document
from minifp.saving import files

SOURCE = Path(__file__).resolve().parents[1] / "docs" / "teaching" / "handout.md"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
PRINT = Markup("""
@page { size: A4; margin: 16mm 17mm; }
.minifp main { max-width: none; padding: 0; }
.minifp { font-size: 15px; line-height: 1.45; background: #fff; }
.minifp p, .minifp li { max-width: none; margin: 0.3rem 0; font-size: 15px; }
.minifp h1 { font-size: 1.7rem; margin: 0 0 0.5rem; }
.minifp h2 { font-size: 1.2rem; margin: 1.1rem 0 0.4rem; break-after: avoid; }
.minifp #Choosing-S { break-before: page; }
.minifp table { border-collapse: collapse; width: 100%; margin: 0.4rem 0; display: table; }
.minifp td, .minifp th { border-bottom: 1px solid #d8dee4; text-align: left; font-size: 14px;
  white-space: normal; vertical-align: top; padding: 0.25rem 0.6rem 0.25rem 0; }
.minifp td code { overflow-wrap: anywhere; }
.minifp pre { font-size: 12.5px; padding: 0.5rem 0.7rem; margin: 0.45rem 0; break-inside: avoid; }
.minifp .theme, .minifp .anchor-link { display: none; }
""")


def page() -> Markup:
    """The handout as a page."""
    text = SOURCE.read_text(encoding="utf-8")
    content = Markup(markdown2html(text))  # of the project's own text
    return document(text.splitlines()[0].removeprefix("# "), content, PRINT)


def printed(html: str) -> bytes:
    """A page as a PDF."""
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        try:
            tab = browser.new_page(color_scheme="light")
            tab.set_content(html)
            return tab.pdf(prefer_css_page_size=True, print_background=False)
        finally:
            browser.close()


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--out", type=click.Path(path_type=Path), default="handout.pdf", show_default=True)
def main(out):
    """Make the handout's PDF.

    \b
    Example:
      python scripts/write_handout.py --out runs/handout.pdf
    """
    click.echo(files.write(out, printed(page())))


if __name__ == "__main__":
    sys.exit(main())
