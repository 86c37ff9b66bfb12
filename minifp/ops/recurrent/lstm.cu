// One step of an LSTM, forward and backward, but for its products: see lstm.py. A thread has one
// unit of one sequence; the step's rows begin at `start`. Stored numbers are of the format X.

__device__ inline float sigmoid(float z) { return 1.0f / (1.0f + expf(-z)); }

// z: (N, 4H) sums of products. c: (B, H), the state, which is replaced. q: o tanh(c_t) of each row,
// and of each sequence, unless it is projected.
extern "C" __global__ void lstm_step(const float *z, const X *b_ih, const X *b_hh, X *c, X *h, X *q,
                                     X *cs, X *gates, size count, size H, size start, size biased,
                                     size projected) {
  for (size i = first_index(); i < count * H; i += all_threads()) {
    size j = i % H, row = start + i / H, at = row * 4 * H + j;
    float gate[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
      float bias = biased ? load(b_ih, k * H + j) + load(b_hh, k * H + j) : 0.0f;
      float sum = z[at + k * H] + bias;
      gate[k] = rounded<X>(k == 2 ? tanhf(sum) : sigmoid(sum));
      store(gates, at + k * H, gate[k]);
    }
    float state = rounded<X>(gate[1] * load(c, i) + gate[0] * gate[2]);
    float out = gate[3] * tanhf(state);
    store(c, i, state);
    store(cs, row * H + j, state);
    store(q, row * H + j, out);
    if (!projected) store(h, i, out);
  }
}

// dz of a step, and dc = the gradient of the c before it. What comes to q is dq, from row dq_start
// on, and, if `added`, dh. c0, and cs from row `before` on: the states of the step before, which
// has the first `known` sequences.
extern "C" __global__ void lstm_step_dz(const X *dq, const X *dh, X *dc, const X *c0, const X *cs,
                                        const X *gates, X *dz, size count, size H, size start,
                                        size dq_start, size added, size before, size known) {
  for (size n = first_index(); n < count * H; n += all_threads()) {
    size j = n % H, r = n / H, row = start + r, at = row * 4 * H + j;
    float i = load(gates, at), f = load(gates, at + H);
    float g = load(gates, at + 2 * H), o = load(gates, at + 3 * H);
    float c = r < known ? load(cs, (before + r) * H + j) : load(c0, n);
    float tanh_c = tanhf(load(cs, row * H + j));
    float d = load(dq, (dq_start + r) * H + j);
    if (added) d += load(dh, n);
    float d_c = load(dc, n) + d * o * (1.0f - tanh_c * tanh_c);
    store(dz, at, d_c * g * (i * (1.0f - i)));
    store(dz, at + H, d_c * c * (f * (1.0f - f)));
    store(dz, at + 2 * H, d_c * i * (1.0f - g * g));
    store(dz, at + 3 * H, d * tanh_c * (o * (1.0f - o)));
    store(dc, n, d_c * f);
  }
}
