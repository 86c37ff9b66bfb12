"""The rules of style that only the microscope's page has: its sliders and wide figures."""

STYLE = """\
.minifp .scope-controls { display: grid; gap: 0.5rem 2rem; position: sticky; top: 0; z-index: 1;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); background: var(--page);
  padding: 0.75rem 0; border-bottom: 1px solid var(--edge); }
.minifp .scope-controls label { display: grid; gap: 0.15rem; font-size: 0.92rem; }
.minifp .scope-controls input { width: 100%; accent-color: var(--link); }
.minifp .scope-controls output { font-variant-numeric: tabular-nums; font-weight: 600; }
.minifp .scope-lens svg.panel, .minifp .wide svg.panel { max-width: none; }
.minifp .scope-status { position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%); }
.minifp .drawn { overflow-x: auto; }
.minifp .scope-lens h3 { margin: 0 0 0.5rem; }
.minifp .scope-said { font-size: 0.92rem; max-width: none; font-variant-numeric: tabular-nums; }
@media (max-width: 40rem) {
  .minifp .drawn svg.panel { min-width: 44rem; }
}
@media print {
  .minifp .scope-controls { position: static; }
}
"""
