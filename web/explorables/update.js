// <minifp-update weight="0.1" update="0.00001">: whether w - u is another number than w.

import { Explorable, define, node, slider, svg, table } from "./element.js";
import { FORMATS, neighbours, power, round, shown } from "./formats.js";

const SHOWN = ["float32", "float16", "bfloat16", "float8_e4m3fn"];

class Update extends Explorable {
  static style = "@container (max-width: 30rem) { th:nth-child(4), td:nth-child(4), .more { display: none; } }"; // of the table

  build(root) {
    const log2 = (x) => Math.round(4 * Math.log2(x)) / 4;
    const said = (n) => (Number.isInteger(n) ? `${power(n)}, ${shown(2 ** n, 4)}` : shown(2 ** n, 4));
    const changed = () => this.update();
    this.weight = slider("weight ", { min: -12, max: 4, step: 0.25, value: log2(this.number("weight", 0.1)), say: said, changed });
    this.step = slider("update ", { min: -30, max: 0, step: 0.25, value: log2(this.number("update", 1e-5)), say: said, changed });
    this.line = node("div");
    this.said = node("div", { ariaLive: "polite" });
    root.append(node("h2", {}, "The update that vanishes"), this.weight.label, this.step.label, this.line, this.said);
  }

  update() {
    const [w, u] = [2 ** this.weight.input.valueAsNumber, 2 ** this.step.input.valueAsNumber];
    const rows = SHOWN.map((name) => {
      const f = FORMATS[name];
      const stored = round(w, f);
      const after = round(stored - u, f);
      const lost = after === stored;
      return [name, shown(stored, 6), shown(after, 6), shown(stored - neighbours(stored, f)[0], 4),
        node("span", { className: lost ? "bad" : "good" }, lost ? "lost" : "kept", lost ? node("span", { className: "more" }, ": nothing moved") : "")];
    });
    this.said.replaceChildren(table(["format", "w", "w − u", "gap below w", "the update is"], rows));
    this.line.replaceChildren(this.drawn(w, u));
  }

  /** Float16's numbers around w, and where w - u falls among them. */
  drawn(w, u) {
    const f = FORMATS.float16;
    const stored = round(w, f);
    const numbers = [stored];
    for (let i = 0; i < 4; i++) numbers.unshift(neighbours(numbers[0], f)[0]);
    numbers.push(neighbours(stored, f)[1]);
    const [low, high] = [numbers[0], numbers.at(-1)];
    const x = (v) => 20 + 600 * (v - low) / (high - low);
    const after = Math.max(low, stored - u);
    return svg("svg", { viewBox: "0 -14 640 104", role: "img", "aria-label": `float16 numbers near ${shown(stored)}; w minus u is ${stored - u < low ? "left of those shown" : shown(stored - u)}` },
      svg("line", { x1: 10, x2: 630, y1: 40, y2: 40, stroke: "var(--edge)" }),
      ...numbers.map((v) => svg("line", { x1: x(v), x2: x(v), y1: 30, y2: 50, stroke: "var(--ink)", "stroke-width": v === stored ? 4 : 2 })),
      svg("text", { x: x(stored), y: 68, "text-anchor": "middle" }, "w"),
      svg("path", { d: `M${x(after)} 26 l-6 -12 h12 z`, fill: "var(--bad)" }),
      svg("text", { x: x(after), y: 10, "text-anchor": x(after) < 90 ? "start" : x(after) > 550 ? "end" : "middle" }, "w − u, exact"));
  }
}

define("minifp-update", Update);
