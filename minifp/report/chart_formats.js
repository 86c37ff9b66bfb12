// How numbers and ticks of a chart are written, and where ticks stand.
const Formats = (() => {
  "use strict";
  const WHOLE = [1, 2, 4, 8, 16, 32]; // steps between ticks that are exponents
  const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  const raised = (k) => [...String(k)].map((c) => (c === "-" ? "⁻" : SUPERSCRIPTS[c])).join("");

  function text(value) { // a number in a picture: four digits
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    if (size && (size < 1e-3 || size >= 1e5)) {
      const [digits, power] = value.toExponential(2).split("e");
      return `${Number(digits)}·10${raised(Number(power))}`.replace("-", "−");
    }
    return String(Number(value.toPrecision(4))).replace("-", "−");
  }
  function tick(value) { // of an axis
    return (value < 1e-3 || value >= 1e5) && Number(value.toExponential().split("e")[0]) === 1
      ? `10${raised(Math.round(Math.log10(value)))}` : text(value);
  }
  // The places of ticks on a logarithmic axis: decades where there are many, else digits between.
  function decades(low, high) {
    const span = Math.log10(high / low), from = Math.floor(Math.log10(low)), every = Math.max(1, Math.ceil(span / 7));
    const digits = span > 2.5 ? [1] : span > 1 ? [1, 3] : span > 0.6 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 7], found = [];
    for (let k = from; k <= Math.log10(high); k++) {
      for (const digit of digits) if (k % every === 0) found.push(Number(`${digit}e${k}`));
    }
    return found.filter((v) => v >= low && v <= high);
  }
  const percent = (share) => (share === null || share === undefined ? "–" : `${text(100 * share)}%`);
  const powerOfTwo = (k) => (Number.isInteger(k) ? `2${raised(k)}` : `2^${text(k)}`);

  return {WHOLE, text, tick, decades, percent, powerOfTwo};
})();
