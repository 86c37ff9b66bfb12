// What elements share that show a recorded run: they read it from the address in their attribute
// `run`, or from beside their module, and from nowhere else.

import { Explorable, node, table } from "./element.js";
import { raised } from "./formats.js";

/** The JSON at an address. Throws what to do where it cannot be read, or is of another kind. */
async function fetched(address, kind) {
  let data;
  try {
    const response = await fetch(address, { credentials: "omit" });
    if (!response.ok) throw new Error(`${response.status} ${response.statusText}`.trim());
    data = await response.json();
  } catch (error) {
    throw new Error(`${error.message}. A server of another origin must send Access-Control-Allow-Origin.`);
  }
  if (data?.kind !== kind) throw new Error(`it holds ${data?.kind ?? "no run"}: expected ${kind}, as scripts/record_explorables.py writes them.`);
  return data;
}

/** Has `static kind` and `static beside`, the file where no run is given; `fill(root)` makes its
 * content once `this.data` is there, and `draw()` shows it. */
export class Recorded extends Explorable {
  static observedAttributes = ["run"];
  static style = `
    .small { font-size: 0.85rem; } code { overflow-wrap: anywhere; }
    summary { cursor: pointer; padding: 0.15rem 0; }
    .scroll { overflow-x: auto; } .scroll table { display: table; }
    .scroll th { white-space: normal; overflow-wrap: normal; vertical-align: bottom; } .scroll td { white-space: nowrap; }
    @container (max-width: 30rem) { .scroll th, .scroll td { padding-right: 0.4rem; } }
  `;

  /** Throws TypeError for a `run` that is no address. */
  get address() {
    const run = this.getAttribute("run");
    return run ? new URL(run, document.baseURI).href : new URL(this.constructor.beside, import.meta.url).href;
  }

  build(root) {
    this.content = node("div");
    root.append(this.content);
    this.read();
  }

  async read() {
    const run = this.getAttribute("run");
    this.data = undefined;
    this.content.replaceChildren(node("p", { className: "muted" }, "Reading the run."));
    try {
      const data = await fetched(this.address, this.constructor.kind);
      if (run === this.getAttribute("run")) this.show(data); // else another one is being read
    } catch (error) {
      if (run === this.getAttribute("run")) this.refuse(run ?? this.constructor.beside, error);
    }
  }

  show(data) {
    this.data = data;
    this.content.replaceChildren();
    this.fill(this.content);
    this.draw();
  }

  refuse(run, { message }) {
    this.data = undefined;
    this.content.replaceChildren(node("p", { className: "bad", role: "alert" }, `The run ${run} cannot be shown: ${message}`));
  }

  update() {
    if (this.data) this.draw();
  }

  attributeChangedCallback(name, before, now) {
    if (name === "run" && this.content && before !== now) this.read();
  }

  /** Of the run: what was trained and arranged, and how it is made again. */
  origin() {
    const { about, arranged, command, versions, seeds } = this.data;
    const on = Object.entries(versions).map(([name, version]) => `${name} ${version}`).join(", ");
    return node("p", { className: "muted small" }, raised(`${about} Arranged: ${arranged} Recorded by `), node("code", {}, command),
      ` with ${on}; ${seeds.length > 1 ? "seeds" : "seed"} ${seeds.join(", ")}.`);
  }
}

/** A table that is scrolled where it is too wide, also by keyboard. */
export const wide = (label, heads, rows) =>
  node("div", { className: "scroll", tabIndex: 0, role: "group", ariaLabel: label }, table(heads, rows));

/** What is shown when somebody unfolds it, and made then. */
export function folded(summary, make) {
  const content = node("div");
  const made = node("details", {}, node("summary", {}, summary), content);
  const renew = () => { if (made.open) content.replaceChildren(make()); };
  made.addEventListener("toggle", renew);
  return { made, renew };
}
