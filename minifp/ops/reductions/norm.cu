// log sum e^x of rows, and its gradient dx = dy e^(x - m) / sum: see norm.py, and for rows
// common.cuh. y is read as dy, in mode `gradient`, and is written else.
extern "C" __global__ void __launch_bounds__(MOST_ALONG)
    logsumexp(const X *x, D *y, Y *dx, size rows, size n, size step, size group, size gradient) {
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

__device__ inline float raised(float x, float p) {
  return p == 2.0f ? x * x : p == 1.0f ? x : powf(x, p);
}

// y = the p-norms of rows, p not 0, and with `gradient` dx = dy times their slopes; root: 1 / p,
// less: p - 1. Unless p is 1 or 2, rows are divided by their largest, or smallest for p < 0.
extern "C" __global__ void __launch_bounds__(MOST_ALONG)
    p_norm(const X *x, D *y, Y *dx, size rows, size n, size step, size group, float p, float root,
           float less, size gradient) {
  float v[CHUNK], sign = p < 0.0f ? -1.0f : 1.0f, none = p < 0.0f ? INFINITY : 0.0f;
  for (size b = blockIdx.x; b < blocks_of_rows(rows, group); b += gridDim.x) {
    Row r = row_of(b, rows, n, step, group);
    float m = -INFINITY, sum = 0.0f, some = 0.0f, unit = 1.0f;
    if (p != 1.0f && p != 2.0f) {
      for (size c = 0; c < chunks(r); c++) {
        fetch<PACKED>(x, r, c, none, v);
#pragma unroll
        for (int k = 0; k < CHUNK; k++) m = joined<true>(m, sign * fabsf(v[k]));
      }
      m = sign * row_max(r, m);
      unit = m > 0.0f && m < INFINITY ? m : 1.0f;
    }
    if (isinf(p)) {  // how many are the largest
      for (size c = 0; c < (gradient ? chunks(r) : 0); c++) {
        fetch<PACKED>(x, r, c, -1.0f, v);
#pragma unroll
        for (int k = 0; k < CHUNK; k++)
          v[k] = element<PACKED>(r, c, k) < r.n && fabsf(v[k]) == m ? 1.0f : 0.0f;
        sum += chunk_sum(v);
      }
    } else {
      for (size c = 0; c < chunks(r); c++) {
        fetch<PACKED>(x, r, c, none, v);
#pragma unroll
        for (int k = 0; k < CHUNK; k++) v[k] = raised(fabsf(v[k]) / unit, p);
        some += chunk_sum(v);
        if (c % 32 == 31) sum += some, some = 0.0f;
      }
    }
    sum = row_sum(r, sum + some);
    if (!isinf(p)) m = p == 2.0f ? sqrtf(sum) : unit * raised(sum, root);
    if (!gradient) {
      if (r.is_in && r.lane == 0) store(y, r.number, m);
      continue;
    }
    float d = r.is_in ? load(y, r.number) : 0.0f;
    for (size c = 0; c < chunks(r); c++) {
      fetch<PACKED>(x, r, c, 0.0f, v);
#pragma unroll
      for (int k = 0; k < CHUNK; k++) {
        float u = v[k], way = u > 0.0f ? 1.0f : u < 0.0f ? -1.0f : u;
        float share = isinf(p) ? (fabsf(u) == m ? 1.0f / sum : 0.0f) : raised(fabsf(u) / m, less);
        v[k] = d * (m == 0.0f || (u == 0.0f && p < 1.0f) ? 0.0f : way * share);
      }
      put<PACKED>(dx, r, c, v);
    }
  }
}
