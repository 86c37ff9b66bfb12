// The four histograms of a microscope's page, drawn for any observed step, loss scale and format.
// They share one axis: powers of two. Numbers that are 0 have no place on it: their share is said.
for (const controls of document.querySelectorAll(".scope-controls")) {
  "use strict";
  const root = controls.parentElement;
  root.classList.add("scope-lens", "awake");
  const data = JSON.parse(root.querySelector("script[type='application/json']").textContent);
  const stepSlider = root.querySelector(".scope-step"), scaleSlider = root.querySelector(".scope-scale");
  const chosen = root.querySelector(".scope-format"); // "": each kind as in the run
  const BARS = 112, ROW = 17, AXIS = 24, MOST_ROWS = 60; // pixels; layers that have a row

  // What a layer's numbers would be in a format after they are multiplied by 2^shift: exact counts.
  function count([, lowest, counts, reaching, zeros, infs, nans, largest], shift, {kept, over, normal, max}) {
    const sums = {total: zeros + infs + nans, zeros, flushed: 0, subnormal: 0, over: 0, nonzero: 0, broken: infs + nans};
    const reach = ([border, place], e, i, n) => e < border ? 0 : e > border ? n : reaching[place] ? reaching[place][i] : 0;
    counts.forEach((n, i) => {
      const e = lowest + i + shift, held = reach(kept, e, i, n);
      sums.total += n;
      sums.nonzero += n;
      sums.flushed += n - held;
      if (e < normal) sums.subnormal += held;
      sums.over += reach(over, e, i, n);
    });
    sums.headroom = largest === null ? Infinity : max - largest - shift;
    return sums;
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
  const bits = (h) => h === Infinity ? "−" : h.toFixed(1).replace("-", "−");
  const cells = (f) => [f.total.toLocaleString("en"), percent(f.zeros, f.total), percent(f.flushed, f.nonzero),
    percent(f.subnormal, f.nonzero), percent(f.over, f.nonzero), bits(f.headroom), f.broken.toLocaleString("en")];

  class Panel {
    constructor(element) {
      this.key = element.dataset.kind;
      this.about = data.kinds[this.key];
      this.said = element.querySelector(".scope-said");
      this.table = element.nextElementSibling; // of its layers, all of them together first; none where nothing was stored
      this.rows = [...this.table.querySelectorAll("tbody tr")];
      this.canvas = element.querySelector("canvas"); // none where nothing was stored
      this.pointed = element.querySelector(".scope-pointed");
      this.names = this.about.layers.slice(0, MOST_ROWS);
      if (this.canvas) {
        this.canvas.addEventListener("pointermove", (event) => this.point(event));
        this.canvas.addEventListener("pointerleave", () => { this.pointed.textContent = ""; });
      }
    }

    show(step, scale) {
      const shift = this.about.gradient ? scale : 0, stored = this.about.gradient ? step.shift : 0;
      const format = this.format = data.formats[chosen.value || this.about.format];
      Object.assign(this, {shift, whole: new Array(data.bins).fill(0), layers: new Map()});
      let total = NONE;
      for (const row of this.rows) this.write(row, NONE);
      for (const layer of step.held[this.key]) {
        const found = count(layer, shift - stored, format), [which, lowest, counts] = layer, bins = new Array(data.bins).fill(0);
        total = add(total, found);
        this.write(this.rows[which + 1], found);
        counts.forEach((n, i) => { bins[Math.min(Math.max(lowest + i - stored - data.first, 0), data.bins - 1)] += n; });
        bins.forEach((n, i) => { this.whole[i] += n; });
        this.layers.set(which, {bins, found});
      }
      this.total = total;
      if (this.canvas) this.name(step, scale, format, total);
      const [, zeros, flushed, subnormal, over, headroom] = cells(total);
      this.said.textContent = `Step ${step.step}${this.about.gradient ? `, S = ${power(scale)}` : ""}, ${format.said}: ` + (total.nonzero
        ? `of the numbers that are not 0, ${part(flushed)} flushed to 0, ${part(subnormal)} subnormal, ${part(over)} overflow; ${zeros === "0" ? "none is 0" : `${zeros} of all are 0`}; headroom ${headroom} bits.`
        : total.total ? "all numbers are 0." : "none were stored.");
      this.short = `${this.about.title}: ${flushed} flushed to 0, ${over} overflow`;
      if (this.canvas) this.draw();
    }

    name(step, scale, format, total) { // the table
      this.write(this.rows[0], total);
      const caption = `${this.about.title} of step ${step.step}${this.about.gradient ? `, times S = ${raised(scale)}` : ""}, ${format.said}`;
      for (const part of this.table.querySelectorAll("summary, .caption")) part.textContent = caption;
      this.table.querySelector("[aria-label]").setAttribute("aria-label", caption);
    }

    draw() {
      const {canvas, names} = this, width = canvas.clientWidth, style = getComputedStyle(root.closest(".minifp"));
      if (!width) return; // folded
      const color = (name) => style.getPropertyValue(`--${name}`).trim(), narrow = width < 560;
      const rows = Math.max(names.length, 1) * ROW, height = BARS + 8 + rows + AXIS, ratio = devicePixelRatio || 1;
      canvas.width = Math.round(width * ratio), canvas.height = Math.round(height * ratio), canvas.style.height = `${height}px`;
      const pen = canvas.getContext("2d");
      pen.scale(ratio, ratio), pen.clearRect(0, 0, width, height);
      this.left = narrow ? 96 : 190;
      this.bin = (width - this.left - 6) / data.bins;
      const x = (e) => this.left + (e - data.first) * this.bin;
      const clip = (value) => Math.min(Math.max(value, this.left), x(data.first + data.bins));
      const {kept: [kept], over: [over], normal} = this.format;
      for (const [from, to, alpha] of [[normal, over + 1, 0.22], [kept + 1, normal, 0.1]]) {
        pen.globalAlpha = alpha, pen.fillStyle = color("series-3");
        const start = clip(x(from - this.shift)), end = clip(x(to - this.shift));
        pen.fillRect(start, 0, end - start, BARS), pen.fillRect(start, BARS + 8, end - start, rows);
      }
      pen.globalAlpha = 1;
      const good = color("series-1"), lost = color("series-2"), top = Math.max(0.02, 1.08 * this.about.top);
      const of = (e) => { const at = e + this.shift; return at < kept || at > over ? lost : good; };
      this.whole.forEach((n, i) => {
        const share = this.total.nonzero ? n / this.total.nonzero : 0;
        if (!share) return;
        const high = Math.max(1, BARS * share / top);
        pen.fillStyle = of(data.first + i), pen.fillRect(x(data.first + i) + 0.07 * this.bin, BARS - high, 0.86 * this.bin, high);
      });
      pen.font = `${narrow ? 10 : 12}px system-ui, sans-serif`;
      names.forEach((name, row) => {
        const layer = this.layers.get(row), y = BARS + 8 + row * ROW;
        pen.fillStyle = color("ink"), pen.textAlign = "right", pen.textBaseline = "middle";
        pen.fillText(fitted(pen, name, this.left - 18), this.left - 14, y + ROW / 2);
        if (!layer) return;
        if (layer.found.zeros) { // a cell of its own, by the share of zeros
          pen.globalAlpha = 0.15 + 0.85 * layer.found.zeros / layer.found.total, pen.fillStyle = color("series-0");
          pen.fillRect(this.left - 11, y + 1, 7, ROW - 2);
        }
        const most = Math.max(...layer.bins, 1e-9);
        layer.bins.forEach((n, i) => {
          if (!n) return;
          pen.globalAlpha = Math.sqrt(n / most), pen.fillStyle = of(data.first + i);
          pen.fillRect(x(data.first + i), y, this.bin + 0.3, ROW - 1);
        });
        pen.globalAlpha = 1;
      });
      pen.fillStyle = color("muted"), pen.textBaseline = "top", pen.textAlign = "right";
      [0, 0.5].forEach((part) => pen.fillText(`${(100 * top * (1 - part)).toPrecision(2)}%`, this.left - 14, BARS * part + 1));
      pen.textBaseline = "bottom";
      pen.fillText(this.total.zeros ? `zeros: ${percent(this.total.zeros, this.total.total)}` : "no zeros", this.left - 14, BARS);
      pen.strokeStyle = color("muted"), pen.lineWidth = 1;
      for (const y of [BARS + 0.5, BARS + 8.5 + rows]) { pen.beginPath(), pen.moveTo(this.left, y), pen.lineTo(width - 6, y), pen.stroke(); }
      pen.textAlign = "center", pen.textBaseline = "top";
      for (let e = data.first; e < data.first + data.bins; e++) {
        if (e % (narrow ? 16 : 8)) continue;
        const at = x(e) + this.bin / 2;
        pen.fillRect(at - 0.5, BARS + 8 + rows, 1, 4), pen.fillText(raised(e), at, BARS + 8 + rows + 6);
      }
      canvas.setAttribute("aria-label", `${this.about.title}. ${this.said.textContent}`);
    }

    point(event) { // the number behind a bar or a cell
      const box = this.canvas.getBoundingClientRect(), i = Math.floor((event.clientX - box.left - this.left) / this.bin);
      const row = Math.floor((event.clientY - box.top - BARS - 8) / ROW), e = data.first + i;
      const layer = this.layers.get(row), among = row < 0 ? this.whole : layer && layer.bins;
      if (!among || !(i >= 0 && i < data.bins)) { this.pointed.textContent = ""; return; }
      const of = row < 0 ? this.total.nonzero : layer.found.nonzero;
      this.pointed.textContent = `${row < 0 ? "All layers" : this.names[row]}, ${raised(e)} to ${raised(e + 1)}: ` +
        `${among[i].toLocaleString("en")} numbers, ${percent(among[i], of)} of those that are not 0`;
    }

    write(row, found) { cells(found).forEach((text, i) => { row.cells[i + 1].textContent = text; }); }
  }

  function fitted(pen, name, width) { // the end of a name that is too long: there layers differ
    if (pen.measureText(name).width <= width) return name;
    let from = 1;
    while (from < name.length && pen.measureText(`…${name.slice(from)}`).width > width) from++;
    return `…${name.slice(from)}`;
  }
  const part = (share) => (share === "0" ? "none" : share);
  const raised = (k) => "2" + [...String(k)].map((c) => c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]).join("");
  const power = (k) => raised(k) + (k > 0 && k <= 16 ? ` (${2 ** k})` : "");
  const panels = [...root.querySelectorAll("[data-kind]")].map((element) => new Panel(element));

  function show() {
    const step = data.steps[Number(stepSlider.value)], scale = Number(scaleSlider.value);
    root.querySelector(".scope-step-said").textContent = `step ${step.step}`;
    root.querySelector(".scope-scale-said").textContent = `S = ${power(scale)}` + (scale === step.shift ? ", as in this step" : "");
    for (const panel of panels) panel.show(step, scale);
    const all = panels.filter((p) => p.about.gradient).map((p) => p.total).reduce(add, NONE);
    root.querySelector(".scope-lost").textContent = all.nonzero ? `${percent(all.flushed + all.over, all.nonzero).replace(/^0$/, "0%")} lost` : "no gradients";
    root.querySelector(".scope-lost-how").textContent = all.nonzero
      ? `of all gradients that are not 0: ${part(percent(all.flushed, all.nonzero))} flushed to 0, ${part(percent(all.over, all.nonzero))} overflow` : "";
    stepSlider.setAttribute("aria-valuetext", `step ${step.step}`);
    scaleSlider.setAttribute("aria-valuetext", `2 to the ${scale}, ${root.querySelector(".scope-lost").textContent}`);
  }

  let saying = 0; // one sentence for those who listen, when the slider has come to rest
  function say() {
    clearTimeout(saying);
    const status = root.querySelector(".scope-status");
    saying = setTimeout(() => { status.textContent = panels.filter((p) => p.about.gradient).map((p) => p.short).join(". "); }, 700);
  }
  for (const slider of [scaleSlider, stepSlider, chosen]) {
    slider.addEventListener("input", () => { show(); say(); });
    slider.disabled = false;
  }

  const play = root.querySelector(".scope-play");
  let playing = 0; // through all loss scales, from the least where it stands at the largest
  function stop() {
    clearInterval(playing), playing = 0;
    play.textContent = "Play";
  }
  play.disabled = false;
  play.addEventListener("click", () => {
    if (playing) return stop();
    if (scaleSlider.value === scaleSlider.max) scaleSlider.value = scaleSlider.min;
    play.textContent = "Pause";
    playing = setInterval(() => {
      scaleSlider.value = Number(scaleSlider.value) + 1;
      show();
      if (scaleSlider.value === scaleSlider.max) { stop(); say(); }
    }, 400);
  });

  const again = () => { for (const panel of panels) if (panel.canvas) panel.draw(); };
  addEventListener("resize", again);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  root.closest(".minifp").addEventListener("themechange", again);
  root.closest("details")?.addEventListener("toggle", again);
  show();
}
