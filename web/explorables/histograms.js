// <minifp-histograms run="ADDRESS" scale="10" step="100" format="float16">: where the four kinds of
// numbers of a recorded run lie, and what a format would lose of them. scale: log2 of the loss scale.

import { define, node, slider, svg } from "./element.js";
import { FORMATS, power, shown } from "./formats.js";
import { bins, borders, losses, percent } from "./losses.js";
import { Recorded, folded, wide } from "./recorded.js";

const CHOICE = ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"];
const GRADIENTS = ["activation gradients", "weight gradients"];
const SCALES = [-30, 40];
const FIRST = -50, LAST = 30; // powers of two that are drawn
const LEFT = 8, BASE = 118, HEIGHT = 96, BIN = 4.8; // of the picture, which is 400 wide

const x = (exponent) => LEFT + BIN * (Math.min(Math.max(exponent, FIRST), LAST) - FIRST);

class Histograms extends Recorded {
  static kind = "minifp histograms";
  static beside = "lstm.json";
  static observedAttributes = ["run", "scale", "step", "format"];
  static style = `${Recorded.style}
    .panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(19rem, 100%), 1fr)); gap: 0.8rem; margin: 0.6rem 0; }
    figure { margin: 0; min-width: 0; } figcaption { font-weight: 600; }
    figure p { margin: 0; } .aside { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
    @container (max-width: 30rem) { svg text { font-size: 16px; } }
  `;

  fill(root) {
    const changed = () => this.update();
    const { steps } = this.data;
    this.scale = slider("loss scale S ", { min: SCALES[0], max: SCALES[1], value: 0, say: power, changed });
    this.step = slider("step ", { min: 0, max: steps.length - 1, value: 0, say: (i) => String(steps[i].step), changed });
    this.format = node("select", {}, ...CHOICE.map((name) => node("option", {}, name)));
    this.format.addEventListener("change", changed);
    this.tops = Object.fromEntries(Object.keys(steps[0].kinds).map((kind) => [kind, this.highest(kind)]));
    this.limits = node("p", { className: "muted small" });
    this.said = node("p", { ariaLive: "polite" });
    this.panels = node("div", { className: "panels" });
    this.shares = folded("The same as a table", () => this.asTable());
    this.counts = folded("How many numbers lie in each power of two", () => this.countTable());
    this.obey();
    root.append(node("h2", {}, this.data.title), this.scale.label, node("label", {}, "stored in ", this.format),
      this.step.label, this.said, this.panels, this.limits, this.shares.made, this.counts.made, this.origin());
  }

  /** Set the controls to what the attributes say; of steps, to the nearest that was recorded. */
  obey() {
    const { steps } = this.data;
    const wanted = this.number("step", steps.at(-1).step);
    const away = steps.map(({ step }) => Math.abs(step - wanted));
    this.scale.set(this.number("scale", 0));
    this.step.set(away.indexOf(Math.min(...away)));
    this.format.value = CHOICE.includes(this.getAttribute("format")) ? this.getAttribute("format") : CHOICE[0];
  }

  attributeChangedCallback(name, before, now) {
    super.attributeChangedCallback(name, before, now);
    if (name === "run" || !this.data) return;
    this.obey();
    this.update();
  }

  /** The largest share of a bin in any step: pictures of one kind have one height. */
  highest(kind) {
    const shares = this.data.steps.map(({ kinds }) => Math.max(...kinds[kind].counts) / kinds[kind].counts.reduce((a, b) => a + b, 0));
    return Math.max(...shares.filter(Number.isFinite), 1e-9);
  }

  get f() { return FORMATS[this.format.value]; }

  get log2() { return this.scale.input.valueAsNumber; }

  get seen() { return this.data.steps[this.step.input.valueAsNumber]; }

  /** By what power of two stored numbers are multiplied. */
  shift(kind) { return GRADIENTS.includes(kind) ? this.log2 - this.seen.shift : 0; }

  found(kind) { return losses(this.seen.kinds[kind], this.data.places, this.shift(kind), this.f); }

  draw() {
    const gradients = GRADIENTS.map((kind) => this.found(kind));
    const of = (name) => gradients.reduce((sum, one) => sum + one[name], 0);
    const share = (name) => percent(of(name), of("nonzero"));
    this.said.replaceChildren(`Of all gradients that are not 0, ${this.f.name} would lose ${share("flushed")} below and ${share("over")} above at S = ${power(this.log2)}.`);
    this.limits.replaceChildren(inWords(this.f));
    this.panels.replaceChildren(...Object.keys(this.seen.kinds).map((kind) => this.panel(kind)));
    this.shares.renew();
    this.counts.renew();
  }

  panel(kind) {
    const found = this.found(kind);
    const share = (name) => percent(found[name], found.nonzero);
    const times = GRADIENTS.includes(kind) ? `, times ${power(this.log2)}` : "";
    const part = (text, n) => node("span", { className: n ? "bad" : "" }, text);
    return node("figure", {}, node("figcaption", {}, `${kind[0].toUpperCase()}${kind.slice(1)}${times}`), this.picture(kind),
      node("p", { className: "small" }, part(`lost below ${share("flushed")}`, found.flushed), `, subnormal ${share("subnormal")}, `,
        part(`lost above ${share("over")}`, found.over), `; exactly 0: ${found.zeros ? percent(found.zeros, found.total) : "none"}`,
        found.broken ? part(`; Inf or NaN: ${found.broken.toLocaleString("en")}`, 1) : ""));
  }

  picture(kind) {
    const found = bins(this.seen.kinds[kind], this.data.places, this.shift(kind), this.f).filter(({ n }) => n);
    const count = (test) => found.filter(({ exponent }) => test(exponent)).reduce((sum, { n }) => sum + n, 0);
    const [nonzero, left, right] = [count(() => true), count((e) => e < FIRST), count((e) => e >= LAST)];
    const unit = HEIGHT / this.tops[kind] / Math.max(nonzero, 1);
    return svg("svg", { viewBox: "0 0 400 142", role: "img", "aria-label": `${kind} by power of two; the line below says what is lost` },
      ...this.window(),
      ...found.filter(({ exponent: e }) => e >= FIRST && e < LAST).flatMap((bin) => bars(bin, unit)),
      svg("line", { x1: LEFT, x2: x(LAST), y1: BASE, y2: BASE, stroke: "var(--edge)" }),
      ...[-40, -20, 0, 20].map((e) => svg("text", { x: x(e), y: 136, "text-anchor": "middle" }, power(e))),
      left ? svg("text", { class: "aside", x: LEFT, y: 60 }, `← ${percent(left, nonzero)}`) : "",
      right ? svg("text", { class: "aside", x: x(LAST), y: 60, "text-anchor": "end" }, `${percent(right, nonzero)} →`) : "");
  }

  /** What the format holds, subnormal numbers hatched, and where it ends. */
  window() {
    const { kept, normal, over } = borders(this.f);
    const area = (from, to, fill) => svg("rect", { x: x(from), width: x(to) - x(from), y: BASE - HEIGHT, height: HEIGHT, fill });
    const end = (exponent, text) => exponent <= FIRST || exponent >= LAST ? [] : [
      svg("line", { x1: x(exponent), x2: x(exponent), y1: BASE - HEIGHT - 4, y2: BASE, stroke: "var(--edge)", "stroke-dasharray": "3 2" }),
      svg("text", { x: x(exponent), y: 14, "text-anchor": "middle" }, text)];
    return [svg("defs", {}, svg("pattern", { id: "hatch", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      svg("rect", { width: 5, height: 5, fill: "var(--soft)" }), svg("line", { x1: 0, x2: 0, y1: 0, y2: 5, stroke: "var(--edge)", "stroke-width": 1.2 }))),
    area(normal.exponent, over.exponent + 1, "var(--soft)"), area(kept.exponent, normal.exponent, "url(#hatch)"),
    ...end(kept.exponent, power(kept.exponent)), ...end(over.exponent + 1, shown(this.f.max))];
  }

  asTable() {
    const kinds = Object.keys(this.seen.kinds);
    const share = (name) => (found) => percent(found[name], found.nonzero);
    const rows = {
      numbers: ({ total }) => total.toLocaleString("en"),
      "exactly 0": ({ zeros, total }) => percent(zeros, total),
      "lost below": share("flushed"),
      subnormal: share("subnormal"),
      "lost above": share("over"),
      "Inf, NaN": ({ broken }) => broken.toLocaleString("en"),
      "bits to the largest": ({ headroom }) => Number.isFinite(headroom) ? headroom.toFixed(1).replace("-", "−") : "–",
    };
    return wide("shares of each kind", ["share", ...kinds], Object.entries(rows).map(([name, say]) => [name, ...kinds.map((kind) => say(this.found(kind)))]));
  }

  /** As multiplied, so that a row is a place in the pictures. */
  countTable() {
    const { kinds } = this.seen;
    const names = Object.keys(kinds);
    const held = names.map((kind) => new Map(kinds[kind].counts.map((n, i) => [kinds[kind].lowest + i + this.shift(kind), n])));
    const all = held.flatMap((counts) => [...counts.keys()]);
    const rows = [];
    for (let e = Math.max(...all); e >= Math.min(...all); e--) {
      rows.push([power(e), ...held.map((counts) => (counts.get(e) ?? 0).toLocaleString("en"))]);
    }
    return wide("counts of each power of two", ["from", ...names], [...rows, ["0", ...names.map((kind) => kinds[kind].zeros.toLocaleString("en"))]]);
  }
}

/** A bin, what is kept below what is lost. */
function bars({ exponent, n, flushed, over }, unit) {
  const lost = flushed + over;
  const bar = (count, below, fill) => count ? [svg("rect", { x: x(exponent) + 0.4, width: BIN - 0.8, y: BASE - (below + count) * unit,
    height: Math.max(count * unit, 0.8), fill })] : [];
  return [...bar(n - lost, 0, "var(--good)"), ...bar(lost, n - lost, "var(--bad)")];
}

/** What a format holds, and what becomes of the rest. */
function inWords(f) {
  const { kept, normal, over } = borders(f);
  const limit = shown(over.fraction * 2 ** over.exponent, 4);
  const becomes = f.hasInf ? "Inf" : f.nan === "last" ? "NaN" : `${shown(f.max)}`;
  return `Shaded: what ${f.name} holds, ${power(kept.exponent + 1)} to ${shown(f.max, 5)}; hatched: subnormal numbers, below ${power(normal.exponent)}, which have fewer digits. `
    + `Up to ${power(kept.exponent)} a number is rounded to 0, what is ${over.exclusive ? "above" : "at least"} ${limit} to ${becomes}: both are orange. All counts are exact; at the arrows: what lies further out.`;
}

define("minifp-histograms", Histograms);
