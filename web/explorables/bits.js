// <minifp-bits value="0.1" format="float16">: the bits of a number, each a button that turns over.

import { Explorable, define, facts, node } from "./element.js";
import { FORMATS, codeOf, neighbours, round, shown, ulpExponent, valueOf } from "./formats.js";

class Bits extends Explorable {
  static style = `
    .row { display: flex; flex-wrap: wrap; gap: 3px; margin: 0.6rem 0; }
    .row button { min-width: 2rem; padding: 0.1rem 0; font-family: ui-monospace, monospace; }
    .sign { border-bottom: 4px solid var(--third); } .exponent { border-bottom: 4px solid var(--bad); }
    .mantissa { border-bottom: 4px solid var(--good); }
  `;

  build(root) {
    this.format = node("select", {}, ...Object.keys(FORMATS).map((name) => node("option", {}, name)));
    this.format.value = this.getAttribute("format") in FORMATS ? this.getAttribute("format") : "float16";
    this.text = node("input", { type: "text", inputMode: "decimal", size: 16, value: this.getAttribute("value") ?? "0.1" });
    this.row = node("div", { className: "row", role: "group", ariaLabel: "bits, the sign first" });
    this.said = node("div", { ariaLive: "polite" });
    this.read();
    this.format.addEventListener("change", () => { this.read(); this.update(); });
    this.text.addEventListener("input", () => { this.read(); this.update(); });
    root.append(node("h2", {}, "The bits of a number"),
      node("label", {}, "number ", this.text), node("label", {}, "format ", this.format),
      this.row, this.said);
  }

  get f() { return FORMATS[this.format.value]; }

  read() {
    const wanted = this.text.value.trim().replace("^", "**");
    const power = wanted.match(/^(-?)2\*\*(-?\d+)$/);
    this.wanted = power ? (power[1] ? -1 : 1) * 2 ** Number(power[2]) : wanted === "" ? NaN : Number(wanted);
    this.code = codeOf(round(this.wanted, this.f), this.f);
  }

  turn(bit) {
    const weight = 2 ** (this.f.bits - 1 - bit);
    this.code += Math.floor(this.code / weight) % 2 ? -weight : weight;
    this.wanted = valueOf(this.code, this.f);
    this.text.value = String(this.wanted);
    this.update();
    this.row.children[bit].focus();
  }

  update() {
    const f = this.f;
    const value = valueOf(this.code, f);
    const texts = this.code.toString(2).padStart(f.bits, "0");
    this.row.replaceChildren(...[...texts].map((text, i) => {
      const kind = i === 0 ? "sign" : i <= f.exponentBits ? "exponent" : "mantissa";
      const made = node("button", { type: "button", className: kind, ariaLabel: `${kind}, bit ${i}: ${text}` }, text);
      made.addEventListener("click", () => this.turn(i));
      return made;
    }));
    const [below, above] = Number.isFinite(value) ? neighbours(value, f) : [NaN, NaN];
    const error = value - this.wanted;
    const kind = !Number.isFinite(value) ? "no number" : value === 0 ? "zero"
      : Math.abs(value) < f.smallestNormal ? "subnormal: fewer bits" : "normal";
    const ulps = (error / 2 ** ulpExponent(value, f)).toFixed(2).replace("-", "−");
    this.said.replaceChildren(facts([["stored", shown(value, 12)], ["kind", kind],
      ["neighbours", Number.isFinite(value) ? `${shown(below)} and ${shown(above)}` : "none"],
      ["error", Number.isFinite(error) ? `${shown(error, 4)}, ${ulps} ulp` : "none"]]));
  }
}

define("minifp-bits", Bits);
