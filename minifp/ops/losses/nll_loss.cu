// The negative log-likelihood of rows of x with classes t, and its gradient: see nll_loss.py. A
// row's n scores lie `step` apart, and `step` rows beside each other. w: (n), unread unless
// `weighted`.

__device__ inline float weight(const W *w, size weighted, size c) {
  return weighted ? load(w, c) : 1.0f;
}

// stored: each = the losses, or else sums = the losses and then what rows weigh.
extern "C" __global__ void nll_losses(const X *x, const T *t, const W *w, L *each, float *sums,
                                      size rows, size n, size step, size weighted, size ignored,
                                      size stored) {
  for (size r = first_index(); r < rows; r += all_threads()) {
    size c = t[r];
    float loss = 0.0f, weighs = 0.0f;
    if (c != ignored) {
      bool is_class = c >= 0 && c < n;
      weighs = is_class ? weight(w, weighted, c) : NAN;
      loss = is_class ? -load(x, (r / step * n + c) * step + r % step) * weighs : NAN;
    }
    if (stored) {
      store(each, r, loss);
    } else {
      sums[r] = loss;
      sums[rows + r] = weighs;
    }
  }
}

// dx = -w dl / all in the class of each row, and 0 elsewhere. apart: 1 where each row has a dl.
extern "C" __global__ void nll_gradients(const D *dl, const T *t, const W *w, const float *all,
                                         L *dx, size count, size n, size step, size weighted,
                                         size ignored, size apart, size divided) {
  float by = divided ? all[0] : 1.0f;
  for (size i = first_index(); i < count; i += all_threads()) {
    size e = i / step % n, r = i / step / n * step + i % step, c = t[r];
    float d = 0.0f;
    if (c != ignored && (c < 0 || c >= n)) d = NAN;
    if (c != ignored && c == e) d = -(weight(w, weighted, c) * (load(dl, r * apart) / by));
    store(dx, i, d);
  }
}
