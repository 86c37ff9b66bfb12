// Normalisation along rows, and its gradient: see layer_norm.py, and for rows common.cuh. Without
// means (`centred` is 0) it is that of rms_norm.py. A row is read again from the cache. Parameters
// may be missing.

__device__ inline void parameters(const float *w, const Row &r, size c, float missing, float *v) {
  Row first = r;
  first.at = 0;
  if (w)
    fetch<PACKED>(w, first, c, 0.0f, v);
  else
    for (int k = 0; k < CHUNK; k++) v[k] = missing;
}

extern "C" __global__ void __launch_bounds__(MOST_ALONG)
    layer_norm_rows(const X *x, const float *w, const float *b, Y *y, float *means, float *roots,
                    size rows, size n, size step, size group, float eps, size centred) {
  float v[CHUNK], weights[CHUNK], biases[CHUNK];
  for (size at = blockIdx.x; at < blocks_of_rows(rows, group); at += gridDim.x) {
    Row r = row_of(at, rows, n, step, group);
    float mean = 0.0f, square = 0.0f;
    if (centred) {
      for (size c = 0; c < chunks(r); c++) {
        fetch<PACKED>(x, r, c, 0.0f, v);
        mean += chunk_sum(v);
      }
      mean = row_sum(r, mean) / (float)n;
    }
    for (size c = 0; c < chunks(r); c++) {
      fetch<PACKED>(x, r, c, 0.0f, v);
#pragma unroll
      for (int k = 0; k < CHUNK; k++) {
        float apart = element<PACKED>(r, c, k) < r.n ? v[k] - mean : 0.0f;
        v[k] = apart * apart;
      }
      square += chunk_sum(v);
    }
    float root = 1.0f / sqrtf(row_sum(r, square) / (float)n + eps);
    if (r.lane == 0 && r.is_in) {
      if (centred) means[r.number] = mean;
      roots[r.number] = root;
    }
    for (size c = 0; c < chunks(r); c++) {
      fetch<PACKED>(x, r, c, 0.0f, v);
      parameters(w, r, c, 1.0f, weights);
      parameters(b, r, c, -0.0f, biases);
#pragma unroll
      for (int k = 0; k < CHUNK; k++) v[k] = (v[k] - mean) * root * weights[k] + biases[k];
      put<PACKED>(y, r, c, v);
    }
  }
}

extern "C" __global__ void __launch_bounds__(MOST_ALONG)
    layer_norm_dx(const D *dy, const X *x, const float *w, const float *means, const float *roots,
                  Y *dx, size rows, size n, size step, size group) {
  float g[CHUNK], h[CHUNK], weights[CHUNK];
  for (size at = blockIdx.x; at < blocks_of_rows(rows, group); at += gridDim.x) {
    Row r = row_of(at, rows, n, step, group);
    float mean = means && r.is_in ? means[r.number] : 0.0f, root = r.is_in ? roots[r.number] : 0.0f;
    float plain = 0.0f, with = 0.0f;
    for (int pass = 0; pass < 2; pass++) {
      for (size c = 0; c < chunks(r); c++) {
        fetch<PACKED>(dy, r, c, 0.0f, g);
        fetch<PACKED>(x, r, c, mean, h);
        parameters(w, r, c, 1.0f, weights);
#pragma unroll
        for (int k = 0; k < CHUNK; k++) {
          g[k] *= weights[k];
          h[k] = element<PACKED>(r, c, k) < r.n ? (h[k] - mean) * root : 0.0f;
        }
        if (pass) {
#pragma unroll
          for (int k = 0; k < CHUNK; k++) g[k] = root * (g[k] - plain - h[k] * with);
          put<PACKED>(dx, r, c, g);
        } else {
          plain += means ? chunk_sum(g) : 0.0f;
#pragma unroll
          for (int k = 0; k < CHUNK; k++) h[k] *= g[k];
          with += chunk_sum(h);
        }
      }
      if (!pass) {
        plain = row_sum(r, plain) / (float)n;
        with = row_sum(r, with) / (float)n;
      }
    }
  }
}
