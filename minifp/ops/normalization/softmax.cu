// Softmax and its logarithm along rows, and their gradients: see softmax.py, and for rows
// common.cuh. A row is read twice, the second time from the cache.

enum { PLAIN, LOG, MASKED };  // modes

// y = e^(s - m) / sum, where s = sign x; in mode LOG y = s - m - log sum. In mode MASKED, which is
// that of attention, y = 0 in a row where all s are -Inf; else it is NaN there.
extern "C" __global__ void __launch_bounds__(MOST_ALONG)
    softmax_rows(const X *x, Y *y, size rows, size n, size step, size group, float sign,
                 size mode) {
  float v[CHUNK];
  for (size b = blockIdx.x; b < blocks_of_rows(rows, group); b += gridDim.x) {
    Row r = row_of(b, rows, n, step, group);
    Powers p = powers_of<PACKED>(x, r, sign);
    if (mode == MASKED && p.sum == 0.0f) p = {0.0f, 1.0f};
    float share = 1.0f / p.sum, log_sum = logf(p.sum);
    for (size c = 0; c < chunks(r); c++) {
      fetch<PACKED>(x, r, c, 0.0f, v);
#pragma unroll
      for (int k = 0; k < CHUNK; k++) {
        float below = v[k] * sign - p.m;
        v[k] = mode == LOG ? below - log_sum : expf(below) * share;
      }
      put<PACKED>(y, r, c, v);
    }
  }
}

// dx = sign y (dy - sum dy y); in mode LOG dx = dy - e^y sum dy. X is dy's format, W that of y.
extern "C" __global__ void __launch_bounds__(MOST_ALONG)
    softmax_rows_dx(const X *dy, const W *y, Y *dx, size rows, size n, size step, size group,
                    float sign, size mode) {
  float d[CHUNK], v[CHUNK];
  bool log = mode == LOG;
  for (size b = blockIdx.x; b < blocks_of_rows(rows, group); b += gridDim.x) {
    Row r = row_of(b, rows, n, step, group);
    float total = 0.0f;
    for (size c = 0; c < chunks(r); c++) {
      fetch<PACKED>(dy, r, c, 0.0f, d);
      if (!log) {
        fetch<PACKED>(y, r, c, 0.0f, v);
#pragma unroll
        for (int k = 0; k < CHUNK; k++) d[k] *= v[k];
      }
      total += chunk_sum(d);
    }
    total = row_sum(r, total);
    for (size c = 0; c < chunks(r); c++) {
      fetch<PACKED>(dy, r, c, 0.0f, d);
      fetch<PACKED>(y, r, c, 0.0f, v);
#pragma unroll
      for (int k = 0; k < CHUNK; k++)
        v[k] = log ? d[k] - expf(v[k]) * total : sign * v[k] * (d[k] - total);
      put<PACKED>(dx, r, c, v);
    }
  }
}
