// <minifp-bathtub run="ADDRESS" scale="3">: how well a network is trained with each loss scale,
// between two walls. scale: log2 of the one that is read at first.

import { define, node, slider, svg } from "./element.js";
import { power, raised } from "./formats.js";
import "./histograms.js";
import { Recorded, folded, wide } from "./recorded.js";

const LEFT = 52, RIGHT = 630, TOP = 40, BASE = 300; // of the picture, which is 640 wide
const mean = (numbers) => numbers.reduce((a, b) => a + b, 0) / numbers.length;
const two = (number) => number.toFixed(2);
const rounded = (share) => share < 0.001 ? "less than 0.1%" : `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}%`;

class Bathtub extends Recorded {
  static kind = "minifp bathtub";
  static beside = "detector-bathtub.json";
  static observedAttributes = ["run", "scale"];
  static style = `${Recorded.style}
    .beyond { color: var(--bad); }
    svg.tub { touch-action: pan-y; cursor: crosshair; }
  `;

  fill(root) {
    const { points, metric } = this.data;
    this.points = [...points].sort((a, b) => a.log2 - b.log2);
    this.chosen = slider("loss scale S ", { min: 0, max: points.length - 1, value: 0,
      say: (i) => power(this.points[i].log2), changed: () => this.update() });
    this.picture = node("div");
    for (const kind of ["pointermove", "pointerdown"]) this.picture.addEventListener(kind, (event) => this.follow(event));
    this.said = node("p", { ariaLive: "polite" });
    this.why = folded("Why: where the gradients lie at this scale", () => this.histograms());
    this.why.made.hidden = !this.data.histograms;
    const rows = folded("The same as a table", () => this.asTable());
    this.obey();
    root.append(node("h2", {}, this.data.title), node("p", {}, `${metric} by loss scale: a dot for each seed, a line through the means, a cross where all steps were skipped. Dashed: where the run in float32 says that the walls are.`),
      this.picture, this.chosen.label, this.said, this.why.made, rows.made, this.origin());
  }

  obey() { this.choose(this.number("scale", mean(this.data.walls.map(({ log2 }) => log2)))); }

  /** Read the point that is nearest. */
  choose(log2) {
    const away = this.points.map((point) => Math.abs(point.log2 - log2));
    this.chosen.set(away.indexOf(Math.min(...away)));
  }

  attributeChangedCallback(name, before, now) {
    super.attributeChangedCallback(name, before, now);
    if (name === "run" || !this.data) return;
    this.obey();
    this.update();
  }

  /** Read the point below or above the pointer. */
  follow({ clientX }) {
    const { left, width } = this.picture.getBoundingClientRect();
    const [low, high] = this.range;
    const before = this.at;
    this.choose(low + (high - low) * (640 * (clientX - left) / width - LEFT) / (RIGHT - LEFT));
    if (this.at !== before) this.update();
  }

  get at() { return this.points[this.chosen.input.valueAsNumber]; }

  /** The ends of the axis, log2. */
  get range() { return [this.points[0].log2 - 1, this.points.at(-1).log2 + 1]; }

  x(log2) {
    const [low, high] = this.range;
    return LEFT + (RIGHT - LEFT) * (log2 - low) / (high - low);
  }

  y(value) { return BASE - (BASE - TOP) * value / this.top; }

  draw() {
    const { float32, metric } = this.data;
    this.top = 1.1 * Math.max(...float32, ...this.points.flatMap(({ values }) => values));
    this.picture.replaceChildren(svg("svg", { class: "tub", viewBox: "0 0 640 340", role: "img", "aria-label": `${metric} by loss scale; the table below has all points` },
      ...this.frame(), ...this.walls(), ...this.marks()));
    this.said.replaceChildren(...this.inWords());
    this.explain();
  }

  /** Axes, float32's band, and the scale that is read. */
  frame() {
    const { float32 } = this.data;
    const [low, high] = [Math.min(...float32), Math.max(...float32)];
    const [first, last] = this.range;
    const ticks = Array.from({ length: last - first + 1 }, (_, i) => first + i).filter((log2) => log2 % 8 === 0);
    return [svg("rect", { x: LEFT, width: RIGHT - LEFT, y: this.y(high) - 2, height: this.y(low) - this.y(high) + 4, fill: "var(--soft)", stroke: "var(--edge)", "stroke-dasharray": "2 3" }),
      svg("text", { x: this.x(mean(this.data.walls.map(({ log2 }) => log2))), y: this.y(low) + 26, "text-anchor": "middle" }, "float32"),
      svg("rect", { class: "read", x: this.x(this.at.log2) - 9, width: 18, y: TOP, height: BASE - TOP, fill: "var(--good)", opacity: 0.18 }),
      svg("line", { x1: LEFT, x2: RIGHT, y1: BASE, y2: BASE, stroke: "var(--edge)" }),
      ...[0, 0.2, 0.4, 0.6, 0.8, 1].filter((v) => v <= this.top).map((v) => svg("text", { x: LEFT - 8, y: this.y(v) + 4, "text-anchor": "end" }, String(v))),
      ...ticks.map((log2) => svg("text", { x: this.x(log2), y: BASE + 24, "text-anchor": "middle" }, power(log2)))];
  }

  /** Where they were predicted, each with its name towards the floor. */
  walls() {
    const middle = mean(this.data.walls.map(({ log2 }) => log2));
    return this.data.walls.flatMap(({ log2, name }) => [
      svg("line", { x1: this.x(log2), x2: this.x(log2), y1: TOP - 10, y2: BASE, stroke: "var(--ink)", "stroke-width": 1.5, "stroke-dasharray": "6 4" }),
      svg("text", { x: this.x(log2) + (log2 < middle ? -4 : 4), y: TOP - 16, "text-anchor": log2 < middle ? "start" : "end" }, name)]);
  }

  marks() {
    const cross = (x, y) => svg("path", { class: "dot", d: `M${x - 5} ${y - 5} l10 10 m0 -10 l-10 10`, stroke: "var(--bad)", "stroke-width": 3 });
    const dot = (x, y) => svg("circle", { class: "dot", cx: x, cy: y, r: 6, fill: "var(--good)", stroke: "var(--paper)", "stroke-width": 1.5 });
    const line = this.points.map(({ log2, values }) => `${this.x(log2)},${this.y(mean(values))}`).join(" ");
    return [svg("polyline", { points: line, fill: "none", stroke: "var(--good)", "stroke-width": 2.5 }),
      ...this.points.flatMap(({ log2, values, skipped }) => values.map((v) => (skipped ? cross : dot)(this.x(log2), this.y(v))))];
  }

  /** What was measured at the scale that is read, and on which side of a wall it is. */
  inWords() {
    const { metric, float32 } = this.data;
    const { log2, values, skipped, error } = this.at;
    const beyond = this.data.walls.find(({ log2: wall, side }) => side === "left" ? log2 < wall : log2 > wall);
    const measured = skipped ? "all steps were skipped, nothing was learned"
      : `${metric} ${values.map(two).join(" and ")}, on average ${two(mean(values))}`;
    const lost = skipped ? "" : ` In the layer that has it worst, rounding puts the gradient off by ${rounded(error)} of its length, as counted in the run in float32.`;
    return [node("strong", {}, `S = ${power(log2)}: ${measured}`), `; float32 has ${two(Math.min(...float32))} to ${two(Math.max(...float32))}.${lost} `,
      beyond ? node("span", { className: "beyond" }, raised(beyond.says)) : "Between the walls."];
  }

  asTable() {
    return wide("all loss scales", ["log₂ S", ...this.data.seeds.map((seed) => `seed ${seed}`), "mean", "steps skipped", "worst layer off by"],
      this.points.map(({ log2, values, skipped, error }) => [log2, ...values.map((v) => v.toFixed(3)), mean(values).toFixed(3),
        skipped ? "all" : "few or none", rounded(error)]));
  }

  histograms() {
    const run = new URL(this.data.histograms, this.address).href;
    this.inner = node("minifp-histograms", { run, scale: this.at.log2 });
    return this.inner;
  }

  /** The histograms are at the scale that is read. */
  explain() { this.inner?.setAttribute("scale", this.at.log2); }
}

define("minifp-bathtub", Bathtub);
