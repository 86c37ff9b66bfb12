// One chart of a group: what of its lines is shown, drawn by uPlot, and told at the cursor.
const ChartPanel = (() => {
  "use strict";
  const {WHOLE, text, tick, decades, percent, powerOfTwo} = Formats;

  class Panel {
    constructor(group, element, about) {
      Object.assign(this, {group, element, about});
      this.plot = element.querySelector(".chart-plot");
      this.said = element.querySelector(".chart-said");
      this.status = element.querySelector("[role='status']");
      this.lines = about.lines.map(([arm, seed, places, y]) => ({arm, seed, x: about.xs[places], y}));
      this.first = Math.min(...about.xs.map((xs) => xs[0] ?? 0));
      this.last = Math.max(0, ...about.xs.map((xs) => xs[xs.length - 1] ?? 0));
      this.plot.addEventListener("keydown", (event) => this.key(event));
    }

    // What is drawn: {arm, kind, y} of each line over common places, and the bands between lines.
    shown() {
      const {arms, seeds, tau, minus, single} = this.group.state, {data} = this.group, about = this.about;
      const k = about.smooth ? tau : 0, differs = minus && about.minus, drawn = [], bands = [];
      let lines = this.lines.filter((line) => seeds.has(line.seed))
        .map((line) => ({...line, y: Curves.smooth(line.x, line.y, k)}));
      if (differs) {
        const base = new Map(lines.filter((line) => line.arm === data.baseline).map((line) => [line.seed, line]));
        lines = lines.filter((line) => base.has(line.seed))
          .map((line) => ({...line, y: Curves.minus(line, base.get(line.seed))}));
      }
      lines = lines.filter((line) => arms.has(line.arm) && line.y.some((v) => v !== null));
      this.differs = differs;
      this.logarithmic = about.log && !differs;
      if (this.logarithmic) lines = lines.map((line) => ({...line, y: line.y.map((v) => (v > 0 ? v : null))}));
      this.xs = Curves.places(lines);
      const columns = lines.map((line) => ({...line, y: Curves.aligned(line, this.xs, about.stepped)}));
      const controls = about.envelope ? columns.filter((c) => data.arms[c.arm].control && !data.arms[c.arm].same) : [];
      const inside = controls.length && columns.some((c) => !data.arms[c.arm].control);
      if (inside) {
        const {low, high} = Curves.envelope(controls.map((c) => c.y));
        bands.push([drawn.push({y: high}) , drawn.push({y: low}), this.group.faint("series-0", 0.3)]);
      }
      const behind = (arm) => (data.arms[arm].control ? 0 : arm === data.baseline ? 1 : 2);
      for (const arm of [...arms].sort((a, b) => behind(a) - behind(b) || a - b)) {
        const own = columns.filter((c) => c.arm === arm), look = data.arms[arm];
        if (!own.length) continue;
        const inBand = look.control && columns.some((c) => !data.arms[c.arm].control); // a line is enough
        const apart = single || own.length === 1 || (look.astray && !about.stepped);
        if (!apart || !look.astray) {
          const t = about.interval && own.length >= data.fewest ? data.t[own.length] : 0;
          const {mean, low, high} = Curves.band(own.map((c) => c.y), t);
          if (!apart && !inBand) {
            bands.push([drawn.push({y: high}), drawn.push({y: low}), this.group.faint(look.color, 0.2)]);
          }
          drawn.push({arm, y: mean, low: own.length > 1 ? low : null, high, width: look.width});
        }
        if (differs && arm === data.baseline) continue; // zero
        if (apart && (own.length > 1 || look.astray)) {
          for (const c of own) drawn.push({arm, seed: c.seed, y: c.y, width: look.astray ? 1.2 : 0.8});
        }
      }
      return {drawn, bands};
    }

    draw() {
      const at = this.place;
      this.chart?.destroy();
      this.chart = null;
      const width = this.plot.clientWidth;
      if (!width) return; // inside of something that is folded
      const {drawn, bands} = this.shown(), {data} = this.group;
      this.drawn = drawn;
      const look = ({arm, seed, width, y}) => {
        if (arm === undefined) return {stroke: "transparent", points: {show: false}, width: 0};
        const {color, dash} = data.arms[arm];
        return {
          width, dash: dash.length ? dash.map((d) => d * Math.max(width, 1)) : undefined,
          stroke: seed === undefined ? this.group.color(color) : this.group.faint(color, 0.65), spanGaps: false,
          points: {show: this.about.points || y.filter((v) => v !== null && v !== undefined).length === 1, size: 5, fill: this.group.color(color)},
          paths: this.about.stepped ? uPlot.paths.stepped({align: 1}) : undefined,
        };
      };
      const muted = this.group.color("muted"), grid = {stroke: this.group.color("grid"), width: 1};
      const axis = {stroke: muted, grid, ticks: {show: false}, font: "12px system-ui, sans-serif"};
      this.chart = new uPlot({
        width, height: Math.round(Math.min(310, Math.max(225, width * 0.55))), padding: [8, 12, 0, 0],
        legend: {show: false},
        series: [{}, ...drawn.map(look)],
        bands: bands.map(([high, low, fill]) => ({series: [high, low], fill})),
        scales: {
          x: {time: false, range: () => this.group.state.zoom ?? [this.group.first, this.group.last]},
          y: {distr: this.logarithmic ? 3 : 1, range: () => this.range()},
        },
        axes: [
          {...axis, size: 26, label: data.x, labelSize: 18, labelFont: axis.font, ...(data.xPowers || data.places ? {incrs: WHOLE} : {}), values: (_, splits) => splits.map((v) => (Number.isInteger(v) ? this.placed(v) : ""))},
          {...axis, size: 58, ...(this.logarithmic ? {splits: (u, i, low, high) => decades(low, high), filter: (u, splits) => splits} : {}),
            ...(this.about.powers ? {incrs: WHOLE} : {}), values: (_, splits) => splits.map((v) => (v === null ? "" : this.about.powers ? (Number.isInteger(v) ? powerOfTwo(v) : "") : this.logarithmic ? tick(v) : this.format(v)))},
        ],
        cursor: {
          drag: {x: true, y: false, setScale: false}, points: {show: false}, y: false,
          bind: {dblclick: () => () => this.group.zoom(null)},
        },
        hooks: {
          setSelect: [(u) => this.selected(u)],
          draw: [(u) => this.mark(u)],
        },
      }, [this.xs, ...drawn.map(({y}) => y)], this.plot);
      const over = this.chart.over;
      over.addEventListener("pointermove", (event) => {
        this.group.point(this, this.chart.posToVal(event.clientX - over.getBoundingClientRect().left, "x"));
      });
      if (at === undefined) this.say(this.xs.length - 1);
      else       this.show(at, false);
    }

    // The range of values in sight. Arms in which a run did not finish have no say, if others have.
    range() {
      if (this.about.ends) return this.about.ends;
      const [from, to] = this.group.state.zoom ?? [this.group.first, this.group.last], {data} = this.group;
      const reach = (lines) => {
        let low = Infinity, high = -Infinity;
        for (const {y} of lines) {
          y.forEach((v, i) => {
            const until = this.about.stepped ? this.xs[i + 1] ?? Infinity : this.xs[i]; // where it ends
            if (v === null || v === undefined || until < from || this.xs[i] > to) return;
            low = Math.min(low, v), high = Math.max(high, v);
          });
        }
        return [low, high];
      };
      const sound = this.drawn.filter(({arm}) => arm === undefined || !data.arms[arm].astray);
      let [low, high] = reach(sound);
      if (low > high) [low, high] = reach(this.drawn);
      if (low > high) return this.logarithmic ? [0.1, 1] : [0, 1];
      if (this.logarithmic) { const room = Math.max((high / low) ** 0.05, 1.05); return [low / room, high * room]; }
      if (this.about.powers && high - low < 4) return [Math.floor(low) - 2, Math.ceil(high) + 2];
      const room = (high - low || Math.abs(high) * 0.1 || 1) * 0.06;
      return [low - room, high + room];
    }

    format(value) { return (this.about.powers ? powerOfTwo : this.about.percent ? percent : text)(value); }

    placed(x) {
      const {places, xPowers} = this.group.data;
      return places ? places[x] ?? "" : xPowers ? powerOfTwo(x) : x.toLocaleString("en");
    }

    selected(u) {
      if (u.select.width < 4) return;
      const range = [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")];
      u.setSelect({left: 0, width: 0, top: 0, height: 0}, false);
      this.group.zoom(range);
    }

    mark(u) { // ticks of an arm: at the steps that were skipped, a row for each arm, at the bottom
      const {data, state} = this.group, {ctx, bbox} = u, r = devicePixelRatio || 1;
      const rows = [...new Set(this.about.marks.map(([arm]) => arm))].filter((arm) => state.arms.has(arm));
      ctx.save();
      ctx.beginPath(), ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height), ctx.clip();
      for (const [arm, seed, steps] of this.about.marks) {
        if (!state.arms.has(arm) || !state.seeds.has(seed)) continue;
        ctx.fillStyle = this.group.color(data.arms[arm].color);
        const y = bbox.top + bbox.height - (rows.length - rows.indexOf(arm)) * 8 * r;
        for (const step of steps) ctx.fillRect(u.valToPos(step, "x", true) - r / 2, y, 1.5 * r, 6 * r);
      }
      ctx.restore();
    }

    show(place, own) { // the cursor at the point nearest to a step, and the values there in words
      this.place = place;
      if (!this.chart || !this.xs.length) return this.say(-1);
      let i = this.xs.findIndex((x) => x >= place);
      if (i < 0) i = this.xs.length - 1;
      if (i > 0 && (this.about.stepped ? this.xs[i] > place : place - this.xs[i - 1] < this.xs[i] - place)) i--;
      this.index = i;
      const where = this.about.stepped ? place : this.xs[i];
      if (!own) this.chart.setCursor({left: this.chart.valToPos(where, "x"), top: 10});
      this.say(i);
    }

    say(i) {
      const {data} = this.group, format = (value) => this.format(value);
      this.said.replaceChildren();
      if (i < 0) return;
      const add = (kind, content, color) => {
        const part = document.createElement("span");
        part.className = kind, part.textContent = content;
        if (color) part.style.setProperty("--its", `var(--${color})`);
        this.said.append(part, " ");
      };
      const place = Math.round(this.about.stepped ? this.place ?? this.group.last : this.xs[i]);
      add("chart-step", `${data.x} ${this.placed(place)}`);
      const seeds = this.drawn.filter(({seed}) => seed !== undefined).length;
      for (const {arm, seed, y, low, high} of this.drawn.filter((line) => line.arm !== undefined).sort((a, b) => a.arm - b.arm)) {
        if ((this.differs && arm === data.baseline) || (seed !== undefined && seeds > 12) || y[i] === undefined) continue;
        const between = low && low[i] !== high[i] ? ` (${format(low[i])} to ${format(high[i])})` : "";
        const which = seed === undefined ? "" : `, seed ${seed}`;
        add("chart-value", `${data.arms[arm].name}${which} ${y[i] === null ? "none" : format(y[i])}${between}`, data.arms[arm].color);
      }
      if (seeds > 12) add("chart-value", "single seeds: choose fewer to read them");
    }

    key(event) {
      const {state, first, last} = this.group, [from, to] = state.zoom ?? [first, last];
      const at = this.index ?? 0, far = event.shiftKey ? 10 : 1, place = this.xs[at] ?? 0;
      const zoom = (factor) => {
        const span = Math.max((to - from) * factor, 2), start = Math.max(first, place - ((place - from) / (to - from)) * span);
        this.group.zoom(start + span >= last && start <= first ? null : [start, start + span]);
      };
      const move = (i) => {
        this.group.point(null, this.xs[Math.min(Math.max(i, 0), this.xs.length - 1)]);
        clearTimeout(this.saying);
        this.saying = setTimeout(() => { this.status.textContent = this.said.textContent; }, 400);
      };
      const keys = {ArrowLeft: () => move(at - far), ArrowRight: () => move(at + far), Home: () => move(0),
        End: () => move(this.xs.length - 1), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2),
        0: () => this.group.zoom(null), Escape: () => this.group.zoom(null)};
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      keys[event.key]();
      event.preventDefault();
    }
  }

  return Panel;
})();
