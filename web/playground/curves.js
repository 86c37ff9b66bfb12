// Curves that grow while a program trains: of the loss, and of the loss scale as a power of two. An
// optimizer is a series; a step that was skipped is a mark at the foot.

import { node, svg } from "../explorables/element.js";
import { power } from "../explorables/formats.js";

const WIDTH = 480, HEIGHT = 200, LEFT = 84, RIGHT = 8, TOP = 10, BOTTOM = 28;
const COLOURS = ["--good", "--bad", "--third"];
const short = (x) => String(Number(x.toPrecision(3))).replace("-", "−");

export class Curves {
  constructor(root) {
    this.root = root;
    this.clear();
  }

  clear() {
    this.series = new Map();
    this.root.replaceChildren();
  }

  /** A step of an optimizer: its name, the loss and the scale before it (null: none). */
  add({ series, label, loss, scale, skipped }) {
    if (!this.series.has(series)) this.series.set(series, { label, points: [] });
    this.series.get(series).points.push({ loss, scale: Math.log2(scale), skipped });
    this.waiting ??= requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.waiting = undefined;
    if (!this.series.size) return;
    this.root.replaceChildren(
      this.figure("Loss", (point) => point.loss, short),
      this.figure("Loss scale", (point) => point.scale, (x) => power(Math.round(x * 100) / 100)));
  }

  figure(title, of, say) {
    const all = [...this.series.values()];
    const values = all.flatMap(({ points }) => points.map(of)).filter(Number.isFinite);
    const steps = Math.max(2, ...all.map(({ points }) => points.length));
    const [low, high] = spread(values);
    const x = (step) => LEFT + (step / (steps - 1)) * (WIDTH - LEFT - RIGHT);
    const y = (value) => TOP + ((high - value) / (high - low)) * (HEIGHT - TOP - BOTTOM);
    const lines = all.map(({ points }, n) => drawn(points, of, x, y, colour(n)));
    const names = all.map(({ label }, n) => node("span", { style: `color: ${colour(n)}` }, label));
    return node("figure", {}, node("figcaption", {}, title, ...names),
      svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": spoken(title, all, of, say) },
        ...axes(say(low), say(high), steps), ...lines.flat()));
  }
}

const colour = (n) => `var(${COLOURS[n % COLOURS.length]})`;

/** From where to where an axis goes: never nothing. */
function spread(values) {
  if (!values.length) return [0, 1];
  const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
  return low === high ? [low - 1, high + 1] : [low, high];
}

function axes(low, high, steps) {
  const foot = HEIGHT - BOTTOM;
  const end = { "text-anchor": "end" };
  return [
    svg("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: foot, y2: foot }),
    svg("text", { x: LEFT - 6, y: TOP + 8, ...end }, high), svg("text", { x: LEFT - 6, y: foot, ...end }, low),
    svg("text", { x: LEFT, y: HEIGHT - 8 }, "step 1"), svg("text", { x: WIDTH - RIGHT, y: HEIGHT - 8, ...end }, steps),
  ];
}

/** Lines through finite points, broken where there is none, and the marks of skipped steps. */
function drawn(points, of, x, y, stroke) {
  const parts = [[]];
  points.forEach((point, step) => {
    if (Number.isFinite(of(point))) parts.at(-1).push(`${x(step)},${y(of(point))}`);
    else if (parts.at(-1).length) parts.push([]);
  });
  const lines = parts.map((part) => svg("polyline", { points: part.join(" "), style: `stroke: ${stroke}` }));
  const skipped = points.flatMap((point, step) => point.skipped ? [x(step)] : []);
  return [...lines, ...skipped.map((at) => svg("path",
    { d: `M${at} ${HEIGHT - BOTTOM}v-8`, style: `stroke: ${stroke}; stroke-width: 3` }, svg("title", {}, "a skipped step")))];
}

/** What the picture says, for those who do not see it. */
function spoken(title, all, of, say) {
  const ends = all.map(({ label, points }) =>
    `${label}: ${say(of(points[0]))} at the first of ${points.length} steps, ${say(of(points.at(-1)))} at the last`);
  return `${title}. ${ends.join("; ")}.`;
}
