// What all explorables share: a custom element whose style is its own, so that it can stand in any
// page, and follows the reader's colours.

import { COLOURS } from "./colours.js";

const STYLE = `
:host { display: block; container-type: inline-size; ${COLOURS}
  color: var(--ink); background: var(--paper); border: 1px solid var(--edge); border-radius: 10px;
  padding: 1rem; font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
:host([hidden]) { display: none; }
* { box-sizing: border-box; }
h2 { font-size: 1.05rem; margin: 0 0 0.5rem; }
p { margin: 0.5rem 0; }
label { display: inline-flex; flex-wrap: wrap; align-items: center; gap: 0.5rem; margin: 0.2rem 1rem 0.2rem 0; }
button, select, input { font: inherit; color: var(--ink); background: var(--soft);
  border: 1px solid var(--edge); border-radius: 6px; padding: 0.15rem 0.5rem; min-height: 2rem; }
input[type=range] { padding: 0; width: min(20rem, 60cqw); accent-color: var(--good); }
:focus-visible { outline: 3px solid var(--good); outline-offset: 2px; }
output, .number { font-variant-numeric: tabular-nums; }
.good { color: var(--good); } .bad { color: var(--bad); font-weight: 600; } .muted { color: var(--muted); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; display: block; overflow-x: auto; }
th, td { text-align: left; padding: 0.2rem 0.8rem 0.2rem 0; border-bottom: 1px solid var(--soft); white-space: nowrap; }
svg { width: 100%; height: auto; display: block; }
svg text { fill: var(--muted); font-size: 12px; }
.facts { width: auto; } .facts th { font-weight: normal; color: var(--muted); }
@container (max-width: 30rem) {
  table { font-size: 0.82rem; } th, td { white-space: normal; padding-right: 0.35rem; }
  svg { overflow: visible; } svg text { font-size: 22px; }
  label:has([type=range]) { display: flex; margin-right: 0; } input[type=range] { order: 1; width: 100%; }
}
`;

export class Explorable extends HTMLElement {
  connectedCallback() {
    if (this.shadowRoot) return;
    const root = this.attachShadow({ mode: "open" });
    const style = document.createElement("style");
    style.textContent = STYLE + (this.constructor.style ?? "");
    root.append(style);
    this.build(root);
    this.update();
  }

  /** A number of an attribute, or what it is without. */
  number(name, otherwise) {
    const text = this.getAttribute(name);
    return text !== null && Number.isFinite(Number(text)) ? Number(text) : otherwise;
  }
}

/** An element with properties and children: node("p", {className: "muted"}, "text", child). */
export function node(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

/** The same of SVG: all properties are attributes. */
export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A labelled slider that calls `changed`, with what it says beside it; `set` moves it. */
export function slider(text, { min, max, value, step = 1, say = String, changed }) {
  const output = node("output", {});
  const input = node("input", { type: "range", min, max, step, value });
  const tell = () => { output.textContent = input.ariaValueText = say(input.valueAsNumber); };
  const set = (wanted) => { input.value = wanted; tell(); };
  input.addEventListener("input", () => { tell(); changed(); });
  tell();
  return { input, set, label: node("label", {}, text, input, output) };
}

/** Rows of texts as a table with heads. */
export function table(heads, rows) {
  const cells = (kind, row) => node("tr", {}, ...row.map((cell) =>
    cell instanceof Node ? node(kind, {}, cell) : node(kind, {}, String(cell))));
  return node("table", {}, node("thead", {}, cells("th", heads)),
    node("tbody", {}, ...rows.map((row) => cells("td", row))));
}

/** Names and what they are, one below the other. */
export const facts = (pairs) => node("table", { className: "facts" }, node("tbody", {}, ...pairs.map(([name, value]) =>
  node("tr", {}, node("th", { scope: "row" }, name), node("td", {}, value)))));

export function define(name, kind) {
  if (!customElements.get(name)) customElements.define(name, kind);
}
