// Pictures (planes, H, W) as pictures (planes, P, Q): see interpolate.py. Each place along an axis is
// made of one place of x, or of two with weights: those are computed where they are needed.

enum { SAME, NEAREST, NEAREST_EXACT, LINEAR, ALIGNED };

// Along an axis: n places of x, count of y, how many there are of x for one of y, and which kind.
struct Axis {
  size n, count;
  float ratio;
  size kind;
};
struct Taps {
  size low, high;
  float first, second;  // weights, of a pair
  bool is_pair;
};

__device__ inline Taps taps(const Axis &a, size p) {
  if (a.kind == SAME) return {p, p, 1.0f, 0.0f, false};
  float at = (float)p, place = at * a.ratio;
  if (a.kind == NEAREST_EXACT) place = (at + 0.5f) * a.ratio;
  if (a.kind == LINEAR) place = fmaxf(fmaf(at + 0.5f, a.ratio, -0.5f), 0.0f);
  size low = min((size)floorf(place), a.n - 1);
  if (a.kind < LINEAR) return {low, low, 1.0f, 0.0f, false};
  float f = fminf(fmaxf(place - (float)low, 0.0f), 1.0f);
  return {low, min(low + 1, a.n - 1), 1.0f - f, f, true};
}

// The first place of y that is made of place i of x, or later ones.
__device__ inline size first_from(const Axis &a, size i) {
  size low = 0, high = a.count;
  while (low < high) {
    size middle = (low + high) / 2;
    if (taps(a, middle).low < i) low = middle + 1;
    else high = middle;
  }
  return low;
}
struct Span {
  size start, stop;
};
__device__ inline Span readers(const Axis &a, size i) {
  if (a.kind == SAME) return {i, i + 1};
  return {first_from(a, a.kind < LINEAR ? i : i - 1), first_from(a, i + 1)};
}
// What a number of y with these taps gives to place i of x.
__device__ inline float share(const Taps &t, size i, float v) {
  if (!t.is_pair) return v;
  return (t.low == i ? v * t.first : 0.0f) + (t.high == i ? v * t.second : 0.0f);
}

#define AXES                                                                                       \
  size planes, size H, size P, float down, size by_row, size W, size Q, float across, size by_column

extern "C" __global__ void resize(const X *x, Y *y, AXES) {
  Axis rows = {H, P, down, by_row}, columns = {W, Q, across, by_column};
  for (size u = first_index(); u < planes * P * Q; u += all_threads()) {
    size a = u, q = take_digit(a, Q), p = take_digit(a, P);
    Taps r = taps(rows, p), c = taps(columns, q);
    size top = (a * H + r.low) * W, below = (a * H + r.high) * W;
    float v = load(x, top + c.low), w = 0.0f;
    if (r.is_pair) v = v * r.first + load(x, below + c.low) * r.second;
    if (c.is_pair) {
      w = load(x, top + c.high);
      if (r.is_pair) w = w * r.first + load(x, below + c.high) * r.second;
      v = v * c.first + w * c.second;
    }
    store(y, u, v);
  }
}

extern "C" __global__ void resize_back(const X *dy, Y *dx, AXES) {
  Axis rows = {H, P, down, by_row}, columns = {W, Q, across, by_column};
  for (size u = first_index(); u < planes * H * W; u += all_threads()) {
    size a = u, w = take_digit(a, W), h = take_digit(a, H);
    Span ps = readers(rows, h), qs = readers(columns, w);
    float total = 0.0f, some = 0.0f;
    for (size p = ps.start; p < ps.stop; p++) {
      float row = 0.0f, part = 0.0f;
      for (size q = qs.start; q < qs.stop; q++) {
        part += share(taps(columns, q), w, load(dy, (a * P + p) * Q + q));
        if ((q - qs.start) % 32 == 31) row += part, part = 0.0f;
      }
      some += share(taps(rows, p), h, row + part);
      if ((p - ps.start) % 32 == 31) total += some, some = 0.0f;
    }
    store(dx, u, total + some);
  }
}
