// <minifp-sums addend="1" count="5000">: a sum in half precision that stands still.

import { Explorable, define, node, slider, svg, table } from "./element.js";
import { FORMATS, partialSums, shown } from "./formats.js";

const WAYS = [
  ["float32", "var(--third)", "", Infinity],
  ["float16", "var(--bad)", "6 3", Infinity],
  ["float16", "var(--good)", "2 2", 32],
];

class Sums extends Explorable {
  build(root) {
    const changed = () => this.update();
    this.addend = slider("addend ", { min: -6, max: 4, value: Math.log2(this.number("addend", 1)), say: (n) => shown(2 ** n), changed });
    this.count = slider("how many ", { min: 200, max: 8000, step: 200, value: this.number("count", 5000), say: shown, changed });
    this.picture = node("div");
    this.said = node("div", { ariaLive: "polite" });
    root.append(node("h2", {}, "Sums in half precision"), this.addend.label, this.count.label, this.picture, this.said);
  }

  update() {
    const n = this.count.input.valueAsNumber;
    const addends = new Array(n).fill(2 ** this.addend.input.valueAsNumber);
    const exact = n * addends[0];
    const found = WAYS.map(([name, color, dashes, chunk]) => ({
      name: chunk === Infinity ? name : `${name} in chunks of ${chunk}, those in float32`,
      color, dashes, sums: partialSums(addends, FORMATS[name], chunk),
    }));
    this.said.replaceChildren(table(["added in", "sum", "error"], found.map(({ name, sums }) => {
      const sum = sums.at(-1);
      const error = Math.abs(sum / exact - 1);
      return [name, shown(sum), node("span", { className: error > 0.001 ? "bad" : "good" }, `${(100 * error).toPrecision(2)}%`)];
    })));
    const y = (v) => 190 - 170 * Math.min(v, exact) / exact;
    const points = (sums) => Array.from({ length: 201 }, (_, i) => {
      const k = Math.round((n - 1) * i / 200);
      return `${40 + 590 * i / 200},${y(sums[k])}`;
    }).join(" ");
    this.picture.replaceChildren(svg("svg", { viewBox: "0 -10 640 228", role: "img", "aria-label": "partial sums; the table below has the last ones" },
      svg("line", { x1: 40, x2: 630, y1: 190, y2: 190, stroke: "var(--edge)" }),
      svg("text", { x: 630, y: 212, "text-anchor": "end" }, `${shown(n)} addends`),
      svg("text", { x: 40, y: 14 }, shown(exact)),
      ...found.map(({ color, dashes, sums }) => svg("polyline", { points: points(sums), fill: "none", stroke: color, "stroke-width": 2.5, "stroke-dasharray": dashes }))));
  }
}

define("minifp-sums", Sums);
