// Softmax cross entropy of rows of scores z, and its gradients: see cross_entropy.py, and for rows
// common.cuh. A row is read twice, the second time from the cache.
//
// SOFT: t are probabilities beside z, or else the class of each row. w: (n) weights of classes,
// unread unless `weighted`. A loss is sum_e v_e a_e, with a_e = log sum - (z_e - m) and
//
//     v_e = w_e ((1 - smoothing) q_e + smoothing / n),  q_e the target: [e = class], or t

__device__ inline float weight(const W *w, size weighted, size e) {
  return weighted ? load(w, e) : 1.0f;
}

struct Target {
  const T *t;
  const W *w;
  size weighted, label;  // label: the class, 0 of what is ignored, -1 of what is no class
  float smoothing;
  bool kept;
};
__device__ inline float v_of(const Target &target, const Row &r, size e) {
#if SOFT
  float q = load(target.t, r.at + e * r.step);
#else
  float q = e == target.label ? 1.0f : 0.0f;
#endif
  float s = target.smoothing;
  return (s ? (1.0f - s) * q + s / (float)r.n : q) * weight(target.w, target.weighted, e);
}
__device__ inline Target target_of(const T *t, const W *w, const Row &r, size weighted,
                                   size ignored, float smoothing) {
  Target target = {t, w, weighted, 0, smoothing, true};
#if !SOFT
  size c = r.is_in ? t[r.number] : 0;
  target.kept = c != ignored;
  target.label = target.kept ? (c >= 0 && c < r.n ? c : -1) : 0;
#endif
  return target;
}

// stored: each = the losses, or else sums = the losses and then what rows weigh, for `loss_totals`.
extern "C" __global__ void __launch_bounds__(MOST_ALONG)
    cross_entropy_losses(const Z *z, const T *t, const W *w, L *each, float *sums, size rows,
                         size n, size step, size group, size weighted, size ignored, size stored,
                         float smoothing) {
  float v[CHUNK];
  for (size b = blockIdx.x; b < blocks_of_rows(rows, group); b += gridDim.x) {
    Row r = row_of(b, rows, n, step, group);
    Target target = target_of(t, w, r, weighted, ignored, smoothing);
    Powers p = powers_of<PACKED>(z, r, 1.0f);
    float log_sum = logf(p.sum), loss = 0.0f;
    bool no_class = target.label < 0;
    if (SOFT || smoothing) {
      for (size c = 0; c < chunks(r); c++) {
        fetch<PACKED>(z, r, c, 0.0f, v);
#pragma unroll
        for (int k = 0; k < CHUNK; k++) {
          size e = element<PACKED>(r, c, k);
          v[k] = e < r.n ? v_of(target, r, e) * (log_sum - (v[k] - p.m)) : 0.0f;
        }
        loss += chunk_sum(v);
      }
      loss = row_sum(r, loss);
    } else if (r.is_in && !no_class) {
      float below = load(z, r.at + target.label * r.step) - p.m;
      loss = (log_sum - below) * weight(w, weighted, target.label);
    }
    if (r.lane || !r.is_in) continue;
    loss = !target.kept ? 0.0f : no_class ? NAN : loss;
    if (stored) {
      store(each, r.number, loss);
    } else {
      sums[r.number] = loss;
      sums[rows + r.number] = !target.kept || no_class ? 0.0f
                              : SOFT                   ? 1.0f
                                                       : weight(w, weighted, target.label);
    }
  }
}

// dz = (softmax(z) sum v - v) dl / n, or, of targets, dq = (1 - smoothing) w a dl / n.
// apart: 1 where each row has a dl of its own. n is `all[0]` if divided, or else `by`.
extern "C" __global__ void __launch_bounds__(MOST_ALONG)
    cross_entropy_gradients(const D *dl, const Z *z, const T *t, const W *w, const float *all,
                            L *dz, size rows, size n, size step, size group, size weighted,
                            size ignored, size apart, size divided, size of_targets, float by,
                            float smoothing) {
  float v[CHUNK];
  float count = divided ? all[0] : by;
  for (size b = blockIdx.x; b < blocks_of_rows(rows, group); b += gridDim.x) {
    Row r = row_of(b, rows, n, step, group);
    Target target = target_of(t, w, r, weighted, ignored, smoothing);
    Powers p = powers_of<PACKED>(z, r, 1.0f);
    float log_sum = logf(p.sum), share = 1.0f / p.sum, sum_v = 0.0f, f = 0.0f;
    if (SOFT || smoothing) {
      for (size c = 0; c < chunks(r); c++) {
#pragma unroll
        for (int k = 0; k < CHUNK; k++) {
          size e = element<PACKED>(r, c, k);
          v[k] = e < r.n ? v_of(target, r, e) : 0.0f;
        }
        sum_v += chunk_sum(v);
      }
      sum_v = row_sum(r, sum_v);
    } else if (target.label >= 0) {
      sum_v = weight(w, weighted, target.label);
    }
    if (r.is_in && target.kept) f = target.label < 0 ? NAN : load(dl, r.number * apart) / count;
    for (size c = 0; c < chunks(r); c++) {
      fetch<PACKED>(z, r, c, 0.0f, v);
#pragma unroll
      for (int k = 0; k < CHUNK; k++) {
        size e = element<PACKED>(r, c, k);
        if (e >= r.n) continue;
        float below = v[k] - p.m;
        v[k] = of_targets ? (1.0f - smoothing) * weight(w, weighted, e) * (log_sum - below) * f
                          : (expf(below) * share * sum_v - v_of(target, r, e)) * f;
      }
      put<PACKED>(dz, r, c, v);
    }
  }
}
