// One step of gated recurrent units, forward and backward, but for its products: see gru.py. A
// thread has one unit of one sequence; the step's rows begin at `start`. Stored numbers are of the
// format X.

__device__ inline float sigmoid(float z) { return 1.0f / (1.0f + expf(-z)); }

// a: (N, 3H) sums of products with inputs, a_h: (B, 3H) with the states h, which are replaced.
extern "C" __global__ void gru_step(const float *a, const float *a_h, const X *b_ih, const X *b_hh,
                                    X *h, X *hs, X *gates, size count, size H, size start,
                                    size biased) {
  for (size i = first_index(); i < count * H; i += all_threads()) {
    size j = i % H, row = start + i / H, to = row * 4 * H + j;
    float in[3], hidden[3];
#pragma unroll
    for (int k = 0; k < 3; k++) {
      in[k] = a[row * 3 * H + k * H + j] + (biased ? load(b_ih, k * H + j) : 0.0f);
      hidden[k] = a_h[i / H * 3 * H + k * H + j] + (biased ? load(b_hh, k * H + j) : 0.0f);
    }
    float r = rounded<X>(sigmoid(in[0] + hidden[0])), z = rounded<X>(sigmoid(in[1] + hidden[1]));
    float q = rounded<X>(hidden[2]), n = rounded<X>(tanhf(in[2] + r * q));
    store(gates, to, r);
    store(gates, to + H, z);
    store(gates, to + 2 * H, n);
    store(gates, to + 3 * H, q);
    float state = (1.0f - z) * n + z * load(h, i);
    store(h, i, state);
    store(hs, row * H + j, state);
  }
}

// da_in and da_h of a step, and dh = what comes to the h before it but for its products: float32,
// of which the step before takes what would be stored. h0, and hs from row `before` on: the states
// of the step before, which has the first `known` sequences.
extern "C" __global__ void gru_step_da(const X *dy, float *dh, const X *h0, const X *hs,
                                       const X *gates, X *da_in, X *da_h, size count, size H,
                                       size start, size before, size known) {
  for (size i = first_index(); i < count * H; i += all_threads()) {
    size j = i % H, s = i / H, row = start + s, from = row * 4 * H + j, to = row * 3 * H + j;
    float r = load(gates, from), z = load(gates, from + H);
    float n = load(gates, from + 2 * H), q = load(gates, from + 3 * H);
    float h = s < known ? load(hs, (before + s) * H + j) : load(h0, i);
    float d = rounded<X>(dh[i]) + load(dy, row * H + j);
    float da_n = d * (1.0f - z) * (1.0f - n * n);
    float da_r = da_n * q * (r * (1.0f - r)), da_z = d * (h - n) * (z * (1.0f - z));
    store(da_in, to, da_r);
    store(da_in, to + H, da_z);
    store(da_in, to + 2 * H, da_n);
    store(da_h, to, da_r);
    store(da_h, to + H, da_z);
    store(da_h, to + 2 * H, da_n * r);
    dh[i] = d * z;
  }
}
