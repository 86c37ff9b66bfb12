// Line charts that are explored: what is shown is chosen once and drawn in every panel of a group.
// The page's static pictures stay for printing, and where no script may run.
(() => {
  "use strict";
  const TAUS = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];

  class Group {
    constructor(root) {
      this.root = root;
      this.data = JSON.parse(root.querySelector(":scope > script[type='application/json']").textContent);
      this.state = {arms: new Set(this.data.arms.map((_, i) => i)), seeds: new Set(this.data.seeds),
        tau: this.data.tau, minus: false, single: false, zoom: null};
      this.panels = [...root.querySelectorAll("[data-panel]")].map((element, i) => new ChartPanel(this, element, this.data.panels[i]));
      const room = this.data.places ? 0.3 : 0; // for the names at both ends
      this.first = (this.data.xPowers ? Math.min(...this.panels.map((panel) => panel.first)) : 0) - room;
      this.last = Math.max(...this.panels.map((panel) => panel.last), this.first + 1) + room;
      this.wake();
      this.draw();
    }

    wake() {
      const find = (name) => this.root.querySelector(name);
      for (const [name, values] of [["arms", this.data.arms.map((_, i) => i)], ["seeds", this.data.seeds]]) {
        this.root.querySelectorAll(`[data-choose="${name}"]`).forEach((button, i) => {
          button.addEventListener("click", (event) => this.choose(name, values[i], values, event.shiftKey));
        });
      }
      const tau = find(".charts-smooth");
      if (tau) this.wakeSmoothing(tau);
      for (const name of ["minus", "single"]) {
        const box = find(`.charts-${name}`);
        if (box) box.addEventListener("change", () => { this.state[name] = box.checked; this.later(); });
      }
      find(".charts-all").addEventListener("click", () => this.zoom(null));
      this.root.classList.add("awake");
      addEventListener("resize", () => this.later());
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.later());
      this.root.closest(".minifp").addEventListener("themechange", () => this.draw());
      this.root.closest("details")?.addEventListener("toggle", () => this.later());
    }

    wakeSmoothing(tau) {
      this.taus = TAUS.filter((k) => k <= this.last / 4);
      tau.max = this.taus.length - 1;
      tau.value = this.taus.indexOf(this.taus.reduce((a, b) => Math.abs(b - this.state.tau) < Math.abs(a - this.state.tau) ? b : a));
      this.state.tau = this.taus[Number(tau.value)];
      tau.addEventListener("input", () => { this.state.tau = this.taus[Number(tau.value)]; this.later(); });
    }

    choose(name, value, all, more) { // it alone; again: all; with Shift: one more, or one less
      const chosen = this.state[name], alone = chosen.size === 1 && chosen.has(value);
      if (more && !(alone)) chosen[chosen.has(value) ? "delete" : "add"](value);
      else this.state[name] = new Set(alone ? all : [value]);
      this.later();
    }

    zoom(range) {
      this.state.zoom = range && [Math.max(this.first, range[0]), Math.min(this.last, range[1])];
      this.later();
    }

    later() { // many changes, one drawing
      if (!this.due) this.due = requestAnimationFrame(() => { this.due = 0; this.draw(); });
    }

    draw() {
      const {arms, seeds, tau, zoom} = this.state;
      const press = (name, is) => this.root.querySelectorAll(`[data-choose="${name}"]`)
        .forEach((button, i) => button.setAttribute("aria-pressed", String(is(i))));
      press("arms", (i) => arms.has(i));
      press("seeds", (i) => seeds.has(this.data.seeds[i]));
      const slider = this.root.querySelector(".charts-smooth");
      const said = tau ? `each point is an exponential mean, time constant ${tau} ${tau === 1 ? "step" : "steps"}` : "off: every point as it was";
      if (slider) {
        slider.setAttribute("aria-valuetext", said);
        this.root.querySelector(".charts-smooth-said").textContent = said;
      }
      this.root.querySelector(".charts-all").disabled = !zoom;
      this.style = getComputedStyle(this.root.closest(".minifp"));
      for (const panel of this.panels) panel.draw();
    }

    color(name) { return this.style.getPropertyValue(`--${name}`).trim(); }

    faint(name, alpha) { // #rrggbb with an alpha
      return this.color(name) + Math.round(255 * alpha).toString(16).padStart(2, "0");
    }

    point(panel, place) { // the same step in all panels
      for (const other of this.panels) other.show(place, other === panel);
    }
  }

  for (const root of document.querySelectorAll(".charts")) new Group(root);
})();
