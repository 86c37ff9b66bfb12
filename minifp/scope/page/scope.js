// Moves what the figures of a microscope's page show: to another step, to another loss scale.
// The figures are matplotlib's; their bars, cells and the window of float16 are found by their ids.
"use strict";
for (const root of document.querySelectorAll(".scope-lens:not([data-awake])")) {
  root.dataset.awake = "";
  const data = JSON.parse(root.querySelector("script[type='application/json']").textContent);
  const stepSlider = root.querySelector(".scope-step"), scaleSlider = root.querySelector(".scope-scale");
  const SMALLEST = -24, NORMAL = -14, LARGEST = 15, MAX = Math.log2(65504);
  const KEPT = "var(--series-1)", LOST = "var(--series-2)", ZERO = "var(--series-0)";

  // What a layer's numbers would be in float16 after they are multiplied by 2^shift: exact counts.
  function count([, lowest, counts, powers, tops, zeros, infs, nans, largest], shift) {
    const found = {total: zeros + infs + nans, zeros, flushed: 0, subnormal: 0, over: 0, nonzero: 0, broken: infs + nans};
    counts.forEach((n, i) => {
      const e = lowest + i + shift;
      found.total += n;
      found.nonzero += n;
      if (e < SMALLEST - 1) found.flushed += n;
      else if (e === SMALLEST - 1) { found.flushed += powers[i]; found.subnormal += n - powers[i]; }
      else if (e < NORMAL) found.subnormal += n;
      else if (e > LARGEST) found.over += n;
      else if (e === LARGEST && tops) found.over += tops[i];
    });
    found.headroom = largest === null ? Infinity : MAX - largest - shift;
    return found;
  }

  function add(a, b) {
    const sum = {headroom: Math.min(a.headroom, b.headroom)};
    for (const name of ["total", "zeros", "flushed", "subnormal", "over", "nonzero", "broken"]) sum[name] = a[name] + b[name];
    return sum;
  }
  const NONE = {total: 0, zeros: 0, flushed: 0, subnormal: 0, over: 0, nonzero: 0, broken: 0, headroom: Infinity};

  function percent(n, of) {
    if (!of || !n) return "0";
    const p = 100 * n / of;
    return p < 0.001 ? p.toExponential(1) + "%" : (p < 0.1 ? p.toFixed(3) : p < 10 ? p.toFixed(2) : p.toFixed(1)) + "%";
  }
  const bits = (h) => h === Infinity ? "–" : h.toFixed(1).replace("-", "−");
  const cells = (f) => [f.total.toLocaleString("en"), percent(f.zeros, f.total), percent(f.flushed, f.nonzero),
    percent(f.subnormal, f.nonzero), percent(f.over, f.nonzero), bits(f.headroom), f.broken.toLocaleString("en")];

  function box(path) { // the corners of a rectangle that matplotlib has drawn
    const numbers = path.getAttribute("d").match(/-?[\d.]+/g).map(Number);
    const xs = numbers.filter((_, i) => i % 2 === 0), ys = numbers.filter((_, i) => i % 2 === 1);
    return {left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys)};
  }
  function place(path, {left, right, top, bottom}) {
    path.setAttribute("d", `M${left} ${bottom}L${right} ${bottom}L${right} ${top}L${left} ${top}z`);
  }
  const ends = (svg, id) => [...svg.querySelectorAll(`[id$="${id}"]`)];

  class Panel {
    constructor(element) {
      this.key = element.dataset.kind;
      this.about = data.kinds[this.key];
      this.said = element.querySelector(".scope-said");
      this.rows = new Map([...element.querySelectorAll("tbody tr")].map((row) => [row.dataset.layer, row]));
      this.cells = [], this.zeroCells = [];
      this.svg = element.querySelector("svg"); // null where matplotlib was missing
      if (this.svg) this.find(this.svg);
    }

    find(svg) {
      this.bars = Array.from({length: this.about.bins + 1}, (_, i) => ends(svg, `-bar-${i}`)[0].querySelector("path"));
      const paths = (id) => { const [group] = ends(svg, id); return group ? [...group.querySelectorAll("path")] : []; };
      this.cells = paths("-cells").filter((path) => !path.closest("[id$='zero-cells']"));
      if (!this.cells.length) this.cells = ends(svg, "-cells").filter((g) => !g.id.endsWith("zero-cells")).flatMap((g) => [...g.querySelectorAll("path")]);
      this.zeroCells = paths("zero-cells");
      this.normal = ends(svg, "window-normal").map((g) => g.querySelector("path"));
      this.subnormal = ends(svg, "window-subnormal").map((g) => g.querySelector("path"));
      const [first, second] = [box(this.bars[1]), box(this.bars[2])];
      this.bin = second.left - first.left;
      this.start = (first.left + first.right) / 2 - this.bin / 2; // the left edge of the first bin
      this.bottom = first.bottom;
      this.frames = this.normal.map(box);
      this.high = this.frames[0].bottom - this.frames[0].top;
      this.top = Math.max(0.02, 1.08 * this.about.top);
      this.right = this.start + this.bin * this.about.bins;
    }

    show(step, scale) {
      const shift = this.about.gradient ? scale : 0, stored = this.about.gradient ? step.shift : 0;
      const layers = step.held[this.key], whole = new Array(this.about.bins + 1).fill(0);
      let total = NONE;
      for (const cell of [...this.cells, ...this.zeroCells]) cell.style.fillOpacity = 0;
      for (const row of this.rows.values()) this.write(row, NONE);
      for (const layer of layers) {
        const found = count(layer, shift - stored), [which, lowest, counts] = layer;
        total = add(total, found);
        const row = this.rows.get(String(which));
        if (row) this.write(row, found);
        const shares = new Array(this.about.bins + 1).fill(0);
        shares[0] = layer[5];
        counts.forEach((n, i) => { shares[1 + Math.min(Math.max(lowest + i - stored - this.about.first, 0), this.about.bins - 1)] += n; });
        shares.forEach((n, i) => { whole[i] += n; });
        const most = Math.max(...shares, 1e-9);
        shares.forEach((n, i) => {
          const cell = i ? this.cells[which * this.about.bins + i - 1] : this.zeroCells[which];
          if (!cell) return;
          cell.style.fill = i ? this.color(i, shift) : ZERO;
          cell.style.fillOpacity = Math.sqrt(n / most);
        });
      }
      if (this.svg) this.draw(whole, total.total, shift);
      this.write(this.rows.get("all"), total);
      const [, zeros, flushed, subnormal, over, headroom] = cells(total);
      this.said.textContent = `Step ${step.step}${this.about.gradient ? `, S = ${power(scale)}` : ""}: of the numbers that are not 0, ` +
        `${flushed} flushed to 0, ${subnormal} subnormal, ${over} overflow; ${zeros} of all are 0; headroom ${headroom} bits.`;
      this.short = `${this.about.title}: ${flushed} flushed to 0, ${over} overflow`;
    }

    draw(whole, total, shift) {
      whole.forEach((n, i) => {
        const at = box(this.bars[i]);
        at.bottom = this.bottom;
        at.top = this.bottom - this.high * (total ? n / total : 0) / this.top;
        place(this.bars[i], at);
        this.bars[i].style.fill = i ? this.color(i, shift) : ZERO;
      });
      this.move(this.normal, NORMAL - shift, LARGEST + 1 - shift);
      this.move(this.subnormal, SMALLEST - shift, NORMAL - shift);
    }

    centre() { // on a narrow screen the figure scrolls: begin at its tallest bar
      if (!this.svg) return;
      const frame = this.svg.parentElement, boxes = this.bars.slice(1).map((bar) => bar.getBoundingClientRect());
      const tallest = boxes.reduce((a, b) => b.height > a.height ? b : a);
      frame.scrollLeft += tallest.left - frame.getBoundingClientRect().left - frame.clientWidth / 2;
    }

    color(i, shift) {
      const e = this.about.first + i - 1 + shift;
      return e < SMALLEST - 1 || e > LARGEST ? LOST : KEPT;
    }

    move(paths, from, to) {
      const x = (e) => Math.min(Math.max(this.start + (e - this.about.first) * this.bin, this.start), this.right);
      paths.forEach((path, i) => place(path, {...this.frames[i], left: x(from), right: Math.max(x(to), x(from))}));
    }

    write(row, found) { cells(found).forEach((text, i) => { row.cells[i + 1].textContent = text; }); }
  }

  const raised = (k) => "2" + [...String(k)].map((c) => c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]).join("");
  const power = (k) => raised(k) + (k >= 0 && k <= 16 ? ` (${2 ** k})` : "");
  const panels = [...root.querySelectorAll("[data-kind]")].map((element) => new Panel(element));

  function show() {
    const step = data.steps[Number(stepSlider.value)], scale = Number(scaleSlider.value);
    root.querySelector(".scope-step-said").textContent = `step ${step.step}`;
    root.querySelector(".scope-scale-said").textContent = `S = ${power(scale)}` + (scale === step.shift ? ", as in this step" : "");
    for (const panel of panels) panel.show(step, scale);
    stepSlider.setAttribute("aria-valuetext", `step ${step.step}`);
    scaleSlider.setAttribute("aria-valuetext", `2 to the ${scale}`);
  }

  let saying = 0; // one sentence for those who listen, when the slider has come to rest
  function say() {
    clearTimeout(saying);
    const status = root.querySelector(".scope-status");
    saying = setTimeout(() => { status.textContent = panels.filter((p) => p.about.gradient).map((p) => p.short).join(". "); }, 700);
  }
  for (const slider of [stepSlider, scaleSlider]) {
    slider.addEventListener("input", () => { show(); say(); });
    slider.disabled = false;
  }
  show();
  for (const panel of panels) panel.centre();
}
