"""The style sheet of all pages: light and dark, by the reader's setting or the page's own switch,
narrow screens and print."""

from minifp.report.markup import part

LIGHT = """
  --page: #f6f7f9; --paper: #ffffff; --ink: #1f2328; --muted: #59636e; --grid: #d8dee4;
  --edge: #dfe3e8; --edge-strong: #8b929a; --soft: #f1f3f6; --link: #0a5ea8;
  --good: #0b6b4f; --good-soft: #ddf3ea; --bad: #9a3c00; --bad-soft: #fde8da;
  --open: #6b5300; --open-soft: #fbf0cf;
  --series-0: #7d8590; --series-1: #0072b2; --series-2: #d55e00; --series-3: #009e73;
  --series-4: #cc79a7; --series-5: #e69f00; --series-6: #56b4e9; --series-7: #000000;
"""
DARK = """
  --page: #0e1116; --paper: #161b22; --ink: #e6edf3; --muted: #9aa4b0; --grid: #2b323b;
  --edge: #2b323b; --edge-strong: #6b7480; --soft: #1d232b; --link: #6cb8f5;
  --good: #7fdcb6; --good-soft: #12362a; --bad: #ffb083; --bad-soft: #41220f;
  --open: #f0d278; --open-soft: #3a2f0c;
  --series-0: #8b949e; --series-1: #4aa5e3; --series-2: #f5803b; --series-3: #2dbb91;
  --series-4: #de94bd; --series-5: #f0b13c; --series-6: #8fd0f7; --series-7: #f0f3f6;
"""

# Print is light, whatever the screen is.
CSS = f"""\
.minifp, .minifp[data-theme] {{{LIGHT}}}
@media screen and (prefers-color-scheme: dark) {{ .minifp:not([data-theme]) {{{DARK}}} }}
@media screen {{ .minifp[data-theme="dark"] {{{DARK}}} }}
.minifp[data-theme="light"] {{ color-scheme: light; }}
.minifp[data-theme="dark"] {{ color-scheme: dark; }}
{part("pages.css").strip()}
"""

# Jupyter, VS Code and Colab say in these ways that they are dark; and they style every table.
HOSTS = ('[data-jp-theme-light="false"]', ".vscode-dark", 'html[theme="dark"]')
DARK_HOSTS = ", ".join(f'{host} .minifp[data-theme="host"]' for host in HOSTS)
IN_NOTEBOOKS = f"""\
{DARK_HOSTS} {{{DARK} color-scheme: dark; }}
.minifp[data-theme="host"] table {{ color: inherit; margin: 0; table-layout: auto; }}
.minifp[data-theme="host"] tr {{ background: none !important; }}
"""
