// The largest sign x of rows, times sign: see min_max.py, and for rows common.cuh. A row is cut
// into parts of `length`, each of which gives one number, y[a, part, d] of x (a, n, d). NaN is the
// largest.
extern "C" __global__ void __launch_bounds__(MOST_ALONG)
    largest(const X *x, X *y, size rows, size n, size step, size group, size parts, size length,
            float sign) {
  float v[CHUNK];
  size blocks = blocks_of_rows(rows, group);
  for (size b = blockIdx.x; b < blocks * parts; b += gridDim.x) {
    Row r = row_of(b % blocks, rows, n, step, group);
    size part = b / blocks;
    r.at += part * length * step;
    r.n = r.is_in ? min(length, n - part * length) : 0;
    float m = -INFINITY;
    for (size c = 0; c < chunks(r); c++) {
      fetch<PACKED>(x, r, c, -INFINITY * sign, v);
#pragma unroll
      for (int k = 0; k < CHUNK; k++) m = joined<true>(m, v[k] * sign);
    }
    m = row_max(r, m);
    if (r.is_in && r.lane == 0)
      store(y, (r.number / step * parts + part) * step + r.number % step, m * sign);
  }
}
