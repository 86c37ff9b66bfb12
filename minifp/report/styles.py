"""The style sheet of all pages: light and dark, by the reader's setting or the page's own switch,
narrow screens and print."""

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

RULES = """
.minifp:not([data-theme]) { color-scheme: light dark; }
.minifp { color: var(--ink); background: var(--page);
  font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  -webkit-text-size-adjust: 100%; }
.minifp * { box-sizing: border-box; }
.minifp [hidden] { display: none !important; }
.minifp main { max-width: 62rem; margin: 0 auto; padding: 3rem 1.25rem 4rem; }
.minifp h1, .minifp h2, .minifp h3 { color: var(--ink); line-height: 1.25; font-weight: 650;
  letter-spacing: -0.011em; text-wrap: balance; }
.minifp h1 { font-size: clamp(1.5rem, 1.1rem + 1.8vw, 2.1rem); margin: 0.35rem 0 1rem; }
.minifp h2 { font-size: 1.35rem; margin: 3.25rem 0 0.75rem; }
.minifp h3 { font-size: 1.02rem; margin: 2rem 0 0.5rem; }
.minifp p, .minifp ul, .minifp dl { margin: 0.6rem 0; }
.minifp p, .minifp li { max-width: 44rem; }
.minifp a { color: var(--link); text-underline-offset: 0.15em; }
.minifp code, .minifp pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas,
  "Liberation Mono", monospace; }
.minifp code { font-size: 0.9em; background: none; color: inherit; padding: 0;
  overflow-wrap: anywhere; }
.minifp pre { font-size: 0.86rem; line-height: 1.55; background: var(--soft); color: var(--ink);
  border: 1px solid var(--edge); border-radius: 8px; padding: 0.85rem 1rem; margin: 0.75rem 0;
  white-space: pre-wrap; overflow-wrap: anywhere; }
.minifp button { font: inherit; font-size: 0.88rem; color: var(--ink); background: var(--paper);
  border: 1px solid var(--edge-strong); border-radius: 7px; padding: 0.2rem 0.6rem; cursor: pointer;
  min-height: 1.9rem; display: inline-flex; align-items: center; gap: 0.45rem; }
.minifp button:hover:not(:disabled) { border-color: var(--link); }
.minifp button:disabled { color: var(--muted); cursor: default; }
.minifp .theme { float: right; margin-left: 0.75rem; }
.minifp section > details:first-child > summary { color: var(--muted); font-size: 1rem; }
.minifp section > details:first-child > summary h2 { display: inline; }
.minifp section > details:first-child { margin: 3.25rem 0 0.75rem; }
.minifp section > details:first-child > summary { margin-bottom: 0.75rem; }
.minifp nav.contents { margin: 1.25rem 0; font-size: 0.92rem; }
.minifp nav.contents ul { list-style: none; padding: 0; margin: 0; display: flex; flex-wrap: wrap;
  gap: 0.2rem 1.25rem; }
.minifp nav.contents li { max-width: none; }
.minifp .command span { white-space: nowrap; }
.minifp .kicker { color: var(--muted); font-size: 0.9rem; margin: 0; max-width: none; }
.minifp .lede { font-size: 1.1rem; color: var(--ink); }
.minifp .small { font-size: 0.88rem; color: var(--muted); }

.minifp ul.verdicts { list-style: none; padding: 0; margin: 1.25rem 0; display: grid; gap: 0.6rem; }
.minifp .verdicts li { background: var(--paper); border: 1px solid var(--edge);
  border-radius: 10px; padding: 0.8rem 1rem; max-width: none; margin: 0; }
.minifp .verdicts code { font-weight: 600; }
.minifp .verdicts span + span { display: block; margin-top: 0.2rem; color: var(--muted);
  font-size: 0.94rem; }
.minifp .note { background: var(--soft); color: var(--ink); border-left: 4px solid var(--series-5);
  border-radius: 4px; padding: 0.6rem 1rem; margin: 1.25rem 0; font-size: 0.94rem; }
.minifp .note p { margin: 0.2rem 0; max-width: none; }

.minifp figure { margin: 1rem 0; background: var(--paper); --under: var(--paper);
  border: 1px solid var(--edge); border-radius: 12px; padding: 1rem 1.1rem 0.9rem; }
.minifp .pair { display: grid; gap: 1rem 1.75rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); }
.minifp svg.panel { display: block; width: 100%; height: auto; max-width: 30rem; }
.minifp figure.wide svg.panel { max-width: none; }
.minifp svg.panel text { font-family: inherit !important; }
.minifp .legend { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; list-style: none;
  margin: 0 0 0.75rem; padding: 0; font-size: 0.9rem; }
.minifp h1 code { font-size: 0.9em; font-weight: 600; }
.minifp .legend li { display: flex; align-items: center; gap: 0.5rem; margin: 0; }
.minifp .legend svg { flex: none; }
.minifp figcaption { color: var(--muted); font-size: 0.85rem; line-height: 1.5;
  margin-top: 0.6rem; }

.minifp .scroll { overflow-x: auto; margin: 0.2rem 0 0.75rem; /* a shadow where there is more */
  background: linear-gradient(to right, var(--under, var(--page)) 40%, transparent 2rem) local,
    linear-gradient(to left, var(--under, var(--page)) 40%, transparent 2rem) local,
    linear-gradient(to right, var(--grid), transparent 0.6rem),
    linear-gradient(to left, var(--grid), transparent 0.6rem); }
.minifp table { border-collapse: collapse; width: 100%; font-size: 0.9rem; line-height: 1.45;
  font-variant-numeric: tabular-nums; background: none; }
.minifp .caption { color: var(--muted); font-size: 0.85rem; margin: 1rem 0 0; max-width: none; }
.minifp th, .minifp td { padding: 0.42rem 0.7rem; text-align: right; white-space: nowrap;
  border: 0; border-bottom: 1px solid var(--edge); vertical-align: top; background: none; }
.minifp thead th { color: var(--muted); font-weight: 550; border-bottom-color: var(--muted); }
.minifp th:first-child, .minifp td:first-child, .minifp .text { text-align: left; }
.minifp th:first-child, .minifp td:first-child { padding-left: 0; }
.minifp tbody th { font-weight: 500; }
.minifp .facts th, .minifp .facts td { text-align: left; white-space: normal;
  overflow-wrap: anywhere; }
.minifp .facts th { color: var(--muted); white-space: nowrap; width: 1%; padding-right: 1.5rem; }
.minifp details { margin: 0.6rem 0; }
.minifp summary { cursor: pointer; color: var(--link); font-size: 0.92rem; padding: 0.2rem 0; }
.minifp footer { margin-top: 3.5rem; padding-top: 1rem; border-top: 1px solid var(--edge);
  color: var(--muted); font-size: 0.85rem; }
.minifp :focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
@media (min-width: 90rem) {
  .minifp nav.contents { position: fixed; top: 3.2rem; left: calc(50% - 31rem - 12rem);
    width: 11rem; margin: 0; }
  .minifp nav.contents ul { display: block; }
  .minifp nav.contents li { margin: 0.35rem 0; line-height: 1.35; }
}
@media (max-width: 40rem) {
  .minifp main { padding: 1.5rem 1rem 3rem; }
  .minifp figure { padding: 0.8rem 0.75rem; }
  .minifp th, .minifp td { padding: 0.4rem 0.55rem; }
  .minifp thead th { white-space: normal; vertical-align: bottom; }
}
@media print {
  .minifp .theme, .minifp nav.contents { display: none; }
  .minifp, .minifp[data-theme], .minifp:not([data-theme]) { background: var(--paper);
    color-scheme: light; }
  .minifp figure, .minifp li, .minifp tr { break-inside: avoid; }
  .minifp h2 { break-after: avoid; }
  .minifp .scroll { overflow: visible; }
  .minifp .scroll th, .minifp .scroll td { white-space: normal; padding: 0.2rem 0.35rem; }
}
"""

# Print is light, whatever the screen is.
CSS = f"""\
.minifp, .minifp[data-theme] {{{LIGHT}}}
@media screen and (prefers-color-scheme: dark) {{ .minifp:not([data-theme]) {{{DARK}}} }}
@media screen {{ .minifp[data-theme="dark"] {{{DARK}}} }}
.minifp[data-theme="light"] {{ color-scheme: light; }}
.minifp[data-theme="dark"] {{ color-scheme: dark; }}
{RULES.strip()}
"""

# Jupyter, VS Code and Colab say in these ways that they are dark; and they style every table.
HOSTS = ('[data-jp-theme-light="false"]', ".vscode-dark", 'html[theme="dark"]')
DARK_HOSTS = ", ".join(f'{host} .minifp[data-theme="host"]' for host in HOSTS)
IN_NOTEBOOKS = f"""\
{DARK_HOSTS} {{{DARK} color-scheme: dark; }}
.minifp[data-theme="host"] table {{ color: inherit; margin: 0; table-layout: auto; }}
.minifp[data-theme="host"] tr {{ background: none !important; }}
"""
