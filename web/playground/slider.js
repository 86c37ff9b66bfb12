// The slider of the loss scale: it follows the optimizer that trains; moved, it asks for another
// scale, and shows at once what of the last step would be lost with it.

import { power, raised } from "../explorables/formats.js";

export class Slider {
  /** root: with an input, an output and a text. moved: called with log2 of the scale; it returns
   * what becomes of it, in words. */
  constructor(root, moved) {
    this.root = root;
    [this.input, this.output, this.text] = ["input", "output", "p"].map((name) => root.querySelector(name));
    this.input.addEventListener("input", () => {
      this.say(this.input.valueAsNumber);
      this.holds = true; // until what was asked for has been done
      this.text.textContent = moved(this.input.valueAsNumber);
    });
  }

  clear() {
    this.root.hidden = true;
    this.holds = false;
    this.text.textContent = "";
  }

  /** The scale of a step; the slider stays where the reader has put it until the program has heard. */
  follow(scale) {
    this.root.hidden = false;
    const exponent = Math.round(Math.log2(scale));
    if (this.holds || (exponent === this.input.valueAsNumber && this.output.textContent)) return;
    this.input.value = exponent;
    this.say(this.input.valueAsNumber);
  }

  /** The program has heard; what became of the wish. */
  answer(text) {
    this.holds = false;
    this.text.textContent = raised(text);
  }

  get value() {
    return this.input.valueAsNumber;
  }

  say(exponent) {
    this.output.textContent = power(exponent);
    this.input.setAttribute("aria-valuetext", `2 to the power of ${exponent}`);
  }
}
