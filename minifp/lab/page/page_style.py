"""The rules of style that only pages of comparisons have: verdicts, maps, the demo's contents."""

from markupsafe import Markup

STYLE = Markup("""\
.minifp .badge { display: inline-block; font-size: 0.72rem; font-weight: 650; line-height: 1.2;
  letter-spacing: 0.03em; padding: 0.22rem 0.5rem; border-radius: 99px; margin-left: 0.5rem;
  vertical-align: 0.1em; background: var(--open-soft); color: var(--open); white-space: nowrap; }
.minifp .equivalent { background: var(--good-soft); color: var(--good); }
.minifp .different, .minifp .diverged { background: var(--bad-soft); color: var(--bad); }
.minifp nav.experiments { margin: 1.75rem 0; }
.minifp nav.experiments ul { list-style: none; padding: 0; display: grid; gap: 0.6rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
.minifp nav.experiments a { display: block; height: 100%; padding: 0.75rem 1rem;
  border-radius: 10px; background: var(--paper); border: 1px solid var(--edge);
  text-decoration: none; color: var(--ink); }
.minifp nav.experiments a:hover { border-color: var(--link); }
.minifp nav.experiments b { display: block; font-weight: 600; }
.minifp nav.experiments span { color: var(--muted); font-size: 0.9rem; }
.minifp .kept-row { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; }
.minifp figure.kept { margin: 0; flex: 1 1 14rem; min-width: 0; max-width: 100%; }
.minifp figure.kept img { max-width: 100%; min-width: min(100%, 12rem); image-rendering: pixelated;
  border: 1px solid var(--edge); border-radius: 4px; }
.minifp figure.kept pre { max-height: 18rem; overflow: auto; white-space: pre-wrap; }
.minifp figure.kept audio { width: 100%; }
.minifp figure.map { overflow-x: auto; }
.minifp .map svg.panel { max-width: none; min-width: 36rem; }
.minifp .letter { color: var(--muted); font-weight: 500; margin-right: 0.4rem; }
""")
