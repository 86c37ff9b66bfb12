"""The rules of style that only the microscope's page has: its sliders and wide figures."""

from markupsafe import Markup

STYLE = Markup("""\
.minifp .scope-controls { position: sticky; top: 0; z-index: 1; background: var(--page);
  padding: 0.75rem 0; border-bottom: 1px solid var(--edge); }
.minifp .scope-controls label { display: flex; flex-wrap: wrap; align-items: center;
  gap: 0.2rem 0.8rem; font-size: 0.92rem; }
.minifp .scope-controls input { flex: 1 1 8rem; min-width: 0; accent-color: var(--link); }
.minifp .scope-controls select { font: inherit; max-width: 100%; color: inherit;
  background: var(--page); }
.minifp .scope-large { display: flex; flex-wrap: wrap; align-items: center; gap: 0.2rem 0.8rem;
  margin-bottom: 0.5rem; }
.minifp .scope-large label { flex: 1 1 16rem; font-size: 1.1rem; font-weight: 600; }
.minifp .scope-large input { height: 2.2rem; }
.minifp .scope-lost { font-size: 1.5rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.minifp .scope-lost-how { color: var(--muted); font-size: 0.92rem; }
.minifp .scope-controls output { font-variant-numeric: tabular-nums; font-weight: 600; }
.minifp .scope-scale-said { min-width: 15rem; }
.minifp .scope-lens svg.panel, .minifp .wide svg.panel { max-width: none; }
.minifp .scope-status { position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%); }
.minifp .scope-live { display: none; }
.minifp .awake .scope-live { display: block; }
.minifp .awake .scope-static { display: none; }
.minifp .scope-live canvas { display: block; width: 100%; }
.minifp .scope-pointed { min-height: 1.3rem; margin: 0.2rem 0 0; font-size: 0.85rem;
  color: var(--muted); max-width: none; font-variant-numeric: tabular-nums; }
.minifp .drawn, .minifp .scope-static { overflow-x: auto; }
.minifp .scope-lens h3 { margin: 0 0 0.5rem; }
.minifp .scope-said { font-size: 0.92rem; max-width: none; font-variant-numeric: tabular-nums; }
@media (max-width: 40rem) {
  .minifp .drawn svg.panel { min-width: 44rem; }
  .minifp .scope-scale-said { min-width: 0; }
}
@media print {
  .minifp .scope-controls { position: static; }
  .minifp .awake .scope-static:not(:empty) { display: block; }
  .minifp .awake .scope-live:has(+ .scope-static:not(:empty)) { display: none; }
}
""")
