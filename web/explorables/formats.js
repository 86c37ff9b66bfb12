// Number formats in plain JavaScript: what minifp's numerics/number_format.py describes, and its
// numerics/format_codes.py computes; a test holds both against each other on all halves.
//
// A format has e exponent bits, m mantissa bits and the bias 2^(e-1) - 1. `nan` says which codes of
// the highest exponent are numbers: "ieee", none; "last", all but the last (E4M3); "none", all.

const format = (name, exponentBits, mantissaBits, nan = "ieee") => {
  const bias = 2 ** (exponentBits - 1) - 1;
  const fields = 2 ** exponentBits;
  const top = nan === "ieee" ? fields - 2 : fields - 1;
  const last = 2 ** mantissaBits - 1 - (nan === "last" ? 1 : 0);
  const max = (1 + last / 2 ** mantissaBits) * 2 ** (top - bias);
  const smallest = 2 ** (1 - bias - mantissaBits);
  const bits = 1 + exponentBits + mantissaBits;
  return { name, exponentBits, mantissaBits, nan, bias, bits, max, smallest,
    smallestNormal: 2 ** (1 - bias), hasInf: nan === "ieee" };
};

export const FORMATS = Object.fromEntries([
  format("float32", 8, 23),
  format("bfloat16", 8, 7),
  format("float16", 5, 10),
  format("float8_e5m2", 5, 2),
  format("float8_e4m3fn", 4, 3, "last"),
  format("float6_e3m2", 3, 2, "none"),
  format("float4_e2m1", 2, 1, "none"),
].map((f) => [f.name, f]));

const view = new DataView(new ArrayBuffer(8));

/** floor(log2 |x|) of a finite number that is not zero. */
export function exponentOf(x) {
  view.setFloat64(0, x);
  const field = (view.getUint16(0) >> 4) & 0x7ff;
  return field ? field - 1023 : exponentOf(x * 2 ** 60) - 60;
}

/** x times 2^n, without overflow on the way. */
const scaled = (x, n) => (Math.abs(n) > 1000 ? x * 2 ** (n / 2) * 2 ** (n - n / 2) : x * 2 ** n);

/** The nearest integer; a tie goes to the even one. */
function nearestEven(x) {
  const low = Math.floor(x);
  const rest = x - low;
  return rest > 0.5 || (rest === 0.5 && low % 2 !== 0) ? low + 1 : low;
}

/** log2 of the distance of numbers near x. */
export function ulpExponent(x, f) {
  const least = 1 - f.bias;
  return (x === 0 || !Number.isFinite(x) ? least : Math.max(exponentOf(x), least)) - f.mantissaBits;
}

/** x rounded once, to nearest, ties to even. Beyond the largest number: Inf, or NaN without Inf, or,
 * in a format without both, the largest. */
export function round(x, f) {
  if (Number.isNaN(x)) return f.nan === "none" ? 0 : NaN;
  if (x === 0) return x;
  const sign = x < 0 ? -1 : 1;
  const beyond = f.hasInf ? sign * Infinity : f.nan === "none" ? sign * f.max : NaN;
  if (!Number.isFinite(x)) return beyond;
  const u = ulpExponent(x, f);
  const y = scaled(nearestEven(scaled(Math.abs(x), -u)), u);
  return y > f.max ? beyond : sign * y;
}

/** The bits of a number of the format, as a whole number; NaN has the highest bit of its mantissa. */
export function codeOf(x, f) {
  const m = 2 ** f.mantissaBits;
  const sign = x < 0 || Object.is(x, -0) ? 2 ** (f.bits - 1) : 0;
  const top = (2 ** f.exponentBits - 1) * m;
  if (Number.isNaN(x)) return f.nan === "last" ? top + m - 1 : top + m / 2;
  const a = Math.abs(x);
  if (a === Infinity) return sign + top;
  if (a < f.smallestNormal) return sign + a / f.smallest;
  const e = exponentOf(a);
  return sign + (e + f.bias) * m + (a / 2 ** e - 1) * m;
}

/** The number that bits stand for. */
export function valueOf(code, f) {
  const m = 2 ** f.mantissaBits;
  const half = 2 ** (f.bits - 1);
  const sign = code >= half ? -1 : 1;
  const magnitude = code % half;
  const field = Math.floor(magnitude / m);
  const mantissa = magnitude % m;
  const isTop = field === 2 ** f.exponentBits - 1;
  if (isTop && f.nan === "ieee") return mantissa ? NaN : sign * Infinity;
  if (isTop && f.nan === "last" && mantissa === m - 1) return NaN;
  return sign * (field ? (1 + mantissa / m) * 2 ** (field - f.bias) : mantissa * f.smallest);
}

/** The neighbours of a finite number of the format: the next smaller and the next larger. */
export function neighbours(x, f) {
  const step = 2 ** ulpExponent(x, f);
  const isPower = x !== 0 && Math.abs(x) === 2 ** exponentOf(x) && Math.abs(x) > f.smallestNormal;
  const inner = isPower ? step / 2 : step;
  const away = (y) => (Math.abs(y) > f.max ? round(y, f) : y);
  return x >= 0 ? [away(x - inner), away(x + step)] : [away(x - step), away(x + inner)];
}

/** The sum of addends, one after the other, each partial sum rounded: those partial sums. In chunks
 * of `chunk`, whose own sums are added in float32. */
export function partialSums(addends, f, chunk = Infinity) {
  const wide = FORMATS.float32;
  const found = [];
  let outer = 0;
  let inner = 0;
  addends.forEach((addend, i) => {
    if (i % chunk === 0 && i > 0) {
      outer = round(outer + inner, wide);
      inner = 0;
    }
    inner = round(inner + addend, f);
    found.push(chunk === Infinity ? inner : round(outer + inner, wide));
  });
  return found;
}

const SUPERSCRIPTS = { "-": "⁻", ...Object.fromEntries([..."⁰¹²³⁴⁵⁶⁷⁸⁹"].map((raised, digit) => [digit, raised])) };

/** A text with raised exponents: 2^-24 becomes 2⁻²⁴. */
export const raised = (text) => text.replace(/\^(-?\d+)/g, (_, digits) => [...digits].map((c) => SUPERSCRIPTS[c]).join(""));

/** 2 to the n: raised where n is whole, else the number in three digits. */
export const power = (n) => (Number.isInteger(n) ? raised(`2^${n}`) : String(Number((2 ** n).toPrecision(3))));

/** A number in so many digits at most: 0.0001, 5.96·10⁻⁸, 65,504. */
export function shown(x, digits = 7) {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "NaN" : x < 0 ? "−Inf" : "Inf";
  if (Object.is(x, -0)) return "−0";
  const a = Math.abs(x);
  const text = a !== 0 && (a < 1e-4 || a >= 1e7) ? raised(x.toExponential(digits - 1).replace(/\.?0*e\+?/, "·10^"))
    : x.toLocaleString("en", { maximumSignificantDigits: digits });
  return text.replace("-", "−");
}
