// log sum e^x of rows, and its gradient dx = dy e^(x - m) / sum: see norm.py, and for rows
// common.cuh. y is read as dy, in mode `gradient`, and is written else.
extern "C" __global__ void logsumexp(const X *x, D *y, Y *dx, size rows, size n, size step,
                                     size group, size gradient) {
  float v[CHUNK];
  for (size b = blockIdx.x; b < blocks_of_rows(rows, group); b += gridDim.x) {
    Row r = row_of(b, rows, n, step, group);
    float m = -INFINITY, sum = 0.0f;
    for (size c = 0; c < chunks(r); c++) {
      fetch<PACKED>(x, r, c, -INFINITY, v);
#pragma unroll
      for (int k = 0; k < CHUNK; k++) m = joined<true>(m, v[k]);
    }
    m = row_max(r, m);
    m = isinf(m) ? 0.0f : m;
    for (size c = 0; c < chunks(r); c++) {
      fetch<PACKED>(x, r, c, -INFINITY, v);
#pragma unroll
      for (int k = 0; k < CHUNK; k++) v[k] = expf(v[k] - m);
      sum += chunk_sum(v);
    }
    sum = row_sum(r, sum);
    if (!gradient) {
      if (r.is_in && r.lane == 0) store(y, r.number, m + logf(sum));
      continue;
    }
    float d = r.is_in ? load(y, r.number) : 0.0f;
    for (size c = 0; c < chunks(r); c++) {
      fetch<PACKED>(x, r, c, 0.0f, v);
#pragma unroll
      for (int k = 0; k < CHUNK; k++) v[k] = d * (expf(v[k] - m) / sum);
      put<PACKED>(dx, r, c, v);
    }
  }
}
