// What a format would lose of numbers that were counted, multiplied by a power of two: minifp's
// scope/borders.py and scope/histogram.py; a test holds both against each other at all scales.
//
// A histogram counts, for each power of two, the numbers from 2^e to below 2^(e+1) (`counts`), and
// how many of these reach each of the places within a power of two where a format begins to lose
// (`reaching`; 0: none). A power of two moves numbers by whole bins, so that all counts are exact.

import { exponentOf } from "./formats.js";

/** From where on a format keeps numbers, keeps all their digits, and has none that large. What is
 * at least fraction 2^exponent reaches a border, or what is larger, if it is exclusive: half of
 * the smallest number is rounded to 0, and max + gap / 2 to max, where max is even. */
export function borders(f) {
  const exponent = exponentOf(f.max);
  const half = 2 ** (exponent - f.mantissaBits - 1);
  const lastIsEven = (f.max / (2 * half)) % 2 === 0;
  return {
    kept: { exponent: exponentOf(f.smallest) - 1, fraction: 1, exclusive: true },
    normal: { exponent: exponentOf(f.smallestNormal), fraction: 1, exclusive: false },
    over: { exponent, fraction: (f.max + half) / 2 ** exponent, exclusive: lastIsEven },
  };
}

/** How many numbers of a bin reach a border, once they are multiplied: a function of the bin. */
function reaches({ exponent, fraction, exclusive }, { lowest, counts, reaching }, places, shift) {
  const place = places.findIndex(([at, beyond]) => at === fraction && beyond === exclusive);
  const isWhole = fraction === 1 && !exclusive;
  if (place < 0 && !isWhole) throw new Error(`the run does not count what reaches ${fraction} 2^n: record it again`);
  return (i) => {
    const e = lowest + i + shift;
    if (e !== exponent || isWhole) return e < exponent ? 0 : counts[i];
    return reaching[place] ? reaching[place][i] : 0;
  };
}

/** Of each power of two, after multiplying by 2^shift: how many become 0, are subnormal, normal, or
 * too large in the format. */
export function bins(histogram, places, shift, f) {
  const { kept, normal, over } = borders(f);
  const [held, full, large] = [kept, normal, over].map((border) => reaches(border, histogram, places, shift));
  return histogram.counts.map((n, i) => ({ exponent: histogram.lowest + i + shift, n, flushed: n - held(i),
    subnormal: held(i) - full(i), normal: full(i) - large(i), over: large(i) }));
}

/** The same of all of them together. headroom: bits from the largest number to the format's. */
export function losses(histogram, places, shift, f) {
  const { zeros, infs, nans, largest } = histogram;
  const found = { nonzero: 0, flushed: 0, subnormal: 0, over: 0, zeros, broken: infs + nans };
  for (const { n, flushed, subnormal, over } of bins(histogram, places, shift, f)) {
    found.nonzero += n;
    found.flushed += flushed;
    found.subnormal += subnormal;
    found.over += over;
  }
  found.total = found.nonzero + zeros + infs + nans;
  found.headroom = largest === null ? Infinity : Math.log2(f.max) - largest - shift;
  return found;
}

/** A share: 0%, <0.001%, 0.012%, 1.23%, 45.6%. */
export function percent(n, of) {
  if (!n || !of) return "0%";
  const p = 100 * n / of;
  return p < 0.001 ? "<0.001%" : `${p.toFixed(p < 0.1 ? 3 : p < 10 ? 2 : 1)}%`;
}
