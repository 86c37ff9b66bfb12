// The numbers of a chart: what is smoothed, subtracted and averaged. Nothing here draws.
// A line is {arm, seed, x, y}; y has null where a value is not a finite number.
const Curves = (() => {
  "use strict";

  // Exponential means with time constant k, in steps: a value k steps back weighs 1/e of the newest.
  function smooth(x, y, k) {
    if (!k) return y;
    let sum = 0, weight = 0, last = null;
    return y.map((value, i) => {
      if (value === null) return null;
      const fade = last === null ? 0 : Math.exp((last - x[i]) / k);
      sum = sum * fade + value, weight = weight * fade + 1, last = x[i];
      return sum / weight;
    });
  }

  // y minus the baseline's y at the same x; null where there is none.
  function minus({x, y}, base) {
    const at = new Map(base.x.map((place, i) => [place, base.y[i]]));
    return y.map((value, i) => {
      const other = at.get(x[i]);
      return value === null || other === undefined || other === null ? null : value - other;
    });
  }

  // All places in order, without repeats.
  function places(lines) {
    if (lines.every((line) => line.x === lines[0].x)) return lines.length ? lines[0].x : [];
    return [...new Set(lines.flatMap((line) => line.x))].sort((a, b) => a - b);
  }

  // A line's values at these places: undefined where it has none; of stairs the last before.
  function aligned(line, xs, stairs) {
    if (line.x === xs) return line.y;
    const at = new Map(line.x.map((place, i) => [place, line.y[i]]));
    if (!stairs) return xs.map((place) => at.get(place));
    let last;
    return xs.map((place) => (last = at.has(place) ? at.get(place) : last));
  }

  // Of several seeds: the mean, and its interval (t: Student's quantiles by the number of seeds) or,
  // without t, the lowest and the highest. Null from where a seed ends: a mean of survivors flatters.
  function band(columns, t) {
    const n = columns.length, mean = [], low = [], high = [];
    for (let i = 0; i < (n ? columns[0].length : 0); i++) {
      const values = columns.map((column) => column[i]);
      const missing = values.some((value) => value === null) ? null
        : values.some((value) => value === undefined) ? undefined : false;
      if (missing !== false) { mean.push(missing), low.push(missing), high.push(missing); continue; }
      const centre = values.reduce((a, b) => a + b, 0) / n;
      mean.push(centre);
      if (t) {
        const spread = Math.sqrt(values.reduce((a, b) => a + (b - centre) ** 2, 0) / (n - 1) / n) * t;
        low.push(centre - spread), high.push(centre + spread);
      } else low.push(Math.min(...values)), high.push(Math.max(...values));
    }
    return {mean, low, high};
  }

  // The least and the greatest of all columns at each place; null where there is nothing.
  function envelope(columns) {
    const low = [], high = [];
    for (let i = 0; i < (columns.length ? columns[0].length : 0); i++) {
      const values = columns.map((column) => column[i]).filter((v) => v !== null && v !== undefined);
      low.push(values.length ? Math.min(...values) : null);
      high.push(values.length ? Math.max(...values) : null);
    }
    return {low, high};
  }

  return {smooth, minus, places, aligned, band, envelope};
})();
