// Where the numbers of a step lie in their format: four histograms, which the slider of the loss
// scale moves. All counts are minifp's (minifp/scope/glances.py); nothing is counted here.

import { node, svg, table } from "../explorables/element.js";
import { power } from "../explorables/formats.js";

const WIDTH = 480, HEIGHT = 120, FOOT = 22, LOW = -40, HIGH = 32; // powers of two on all axes
const TICKS = [-40, -24, -14, 0, 16, 32], MINOR = -14; // which narrow pages have no room for
const x = (exponent) => ((Math.min(Math.max(exponent, LOW), HIGH) - LOW) / (HIGH - LOW)) * WIDTH;

/** A share as minifp's pages write it. */
export function percent(count, of) {
  if (!of || !count) return "0";
  const p = (100 * count) / of;
  return p < 0.001 ? `${p.toExponential(1)}%` : `${p < 0.1 ? p.toFixed(3) : p < 10 ? p.toFixed(2) : p.toFixed(1)}%`;
}

/** What a kind would lose at a loss scale: counts, by name. */
function losses({ gradient, first, losses }, scale) {
  return Object.fromEntries(Object.entries(losses).map(([name, counts]) => [name, counts[gradient ? scale - first : 0]]));
}

export class Glance {
  constructor(root) {
    this.root = root;
  }

  clear() {
    this.told = null;
    this.root.replaceChildren();
  }

  /** A step that was looked at, as it would be at the loss scale 2^scale. */
  show(told, scale) {
    this.told = told;
    this.scale = scale;
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = undefined;
      if (this.told) this.draw(this.told, this.scale);
    });
  }

  move(scale) {
    if (this.told) this.show(this.told, scale);
  }

  draw(told, scale) {
    const { step, shift, kinds, updates } = told;
    const note = scale === shift ? "" : ` It was made with S = ${power(shift)}: what had become 0 there stays 0 here.`;
    this.root.replaceChildren(
      node("h2", {}, `Where the numbers of step ${step} lie, gradients with S = ${power(scale)}`),
      node("div", { className: "grid" }, ...kinds.map((kind) => picture(kind, kind.gradient ? scale - shift : 0, losses(kind, scale)))),
      scrolling(table(["share", ...kinds.map(({ title }) => title)], rows(kinds, scale))),
      node("p", { className: "muted" }, `Shares of the numbers that are not 0; of all, those that are 0. ${lost(updates)}${note}`));
  }
}

/** A table that keys can move, where it is wider than the page. */
function scrolling(wide) {
  wide.tabIndex = 0;
  return wide;
}

/** What is said of each kind, a line for each: narrow enough for a phone. */
function rows(kinds, scale) {
  const all = kinds.map((kind) => ({ ...kind, ...losses(kind, scale) }));
  const share = (name) => (kind) => percent(kind[name], kind.nonzero);
  const says = {
    "stored in": ({ format }) => format.name,
    numbers: ({ total }) => total.toLocaleString("en"),
    "exactly 0": ({ zeros, total }) => percent(zeros, total),
    "flushed to 0": share("flushed"), subnormal: share("subnormal"), "too large": share("overflow"),
    "Inf, NaN": ({ broken }) => broken.toLocaleString("en"),
  };
  return Object.entries(says).map(([name, say]) => [name, ...all.map(say)]);
}

const lost = ({ wanted, lost, alone }) => `Of ${wanted.toLocaleString("en")} updates ${percent(lost, wanted)} were lost; `
  + `without float32 masters, in float16, ${percent(alone, wanted)} would be.`;

/** Bars by power of two in the window of a format: what it keeps, and what it loses. */
function picture({ title, format, counts, lowest, nonzero }, shift, { flushed, overflow }) {
  const { smallest, normal, max } = format, top = Math.max(...counts, 1), foot = HEIGHT - FOOT, width = WIDTH / (HIGH - LOW);
  const bars = counts.map((count, i) => {
    const e = lowest + i + shift, height = (count / top) * (foot - 8);
    const kept = e >= smallest - 1 && e < Math.ceil(max);
    return svg("rect", { class: kept ? "kept" : "lost", x: x(Math.min(e, HIGH - 1)), width, y: foot - height, height });
  });
  const said = `${title} in ${format.name}, from ${power(smallest)} to ${format.largest}: of ${nonzero.toLocaleString("en")} `
    + `numbers that are not 0, ${percent(flushed, nonzero)} flushed to 0, ${percent(overflow, nonzero)} too large.`;
  return node("figure", {}, node("figcaption", {}, title),
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": said },
      svg("rect", { class: "window", x: x(smallest), width: x(max) - x(smallest), y: 0, height: foot }),
      svg("rect", { class: "window", x: x(normal), width: x(max) - x(normal), y: 0, height: foot }),
      ...bars, svg("line", { class: "axis", x1: 0, x2: WIDTH, y1: foot, y2: foot }),
      ...TICKS.map((e) => svg("text", { class: e === MINOR ? "minor" : "", x: x(e), y: HEIGHT - 6, "text-anchor": e === LOW ? "start" : e === HIGH ? "end" : "middle" }, power(e)))));
}
