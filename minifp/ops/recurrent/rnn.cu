// One step of a simple recurrent network, forward and backward, but for its products: see rnn.py.
// A thread has one unit of one sequence; the step's rows begin at `start`. Stored numbers are of
// the format X.

// z: (N, H) sums of products. h: (B, H), the states, which are replaced.
extern "C" __global__ void rnn_step(const float *z, const X *b_ih, const X *b_hh, X *h, X *hs,
                                    size count, size H, size start, size biased, size relu) {
  for (size i = first_index(); i < count * H; i += all_threads()) {
    size j = i % H, row = start + i / H;
    float sum = z[row * H + j] + (biased ? load(b_ih, j) + load(b_hh, j) : 0.0f);
    float state = !relu ? tanhf(sum) : sum < 0.0f ? 0.0f : sum;  // NaN stays
    store(h, i, state);
    store(hs, row * H + j, state);
  }
}

extern "C" __global__ void rnn_step_dz(const X *dy, const X *dh, const X *hs, X *dz, size count,
                                       size H, size start, size relu) {
  for (size i = first_index(); i < count * H; i += all_threads()) {
    size at = start * H + i;
    float h = load(hs, at), slope = relu ? (h > 0.0f ? 1.0f : 0.0f) : 1.0f - h * h;
    store(dz, at, (load(dh, i) + load(dy, at)) * slope);
  }
}
