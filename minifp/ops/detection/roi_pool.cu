// The largest of pictures x (N, C, H, W) in bins of K boxes, and where it is: y, chosen
// (K, C, P, Q), by the bins of rows (K, P, 2) and of columns (K, Q, 2): see roi_pool.py.

// Where each of `count` bins of n places begins and ends: a thread takes a bin.
extern "C" __global__ void roi_bins(const float *low, const float *high, size *bins, size K, size n,
                                    size count, float scale) {
  for (size b = first_index(); b < K * count; b += all_threads()) {
    size k = b, p = take_digit(k, count);
    float start = roundf(low[k] * scale), length = fmaxf(roundf(high[k] * scale) - start + 1.0f, 1.0f);
    if (!(fabsf(start) < INFINITY && fabsf(high[k] * scale) < INFINITY)) {
      bins[2 * b] = bins[2 * b + 1] = -1;
      continue;
    }
    length /= (float)count;
    float first = floorf((float)p * length) + start, stop = ceilf((float)(p + 1) * length) + start;
    bins[2 * b] = (size)fminf(fmaxf(first, 0.0f), (float)n);
    bins[2 * b + 1] = (size)fminf(fmaxf(stop, 0.0f), (float)n);
  }
}

#define BINS                                                                                       \
  const size *rows, const size *columns, const size *pictures, size K, size N, size C, size H,     \
      size W, size P, size Q

extern "C" __global__ void largest_in_regions(const X *x, Y *y, int *chosen, BINS) {
  for (size u = first_index(); u < K * C * P * Q; u += all_threads()) {
    size k = u, q = take_digit(k, Q), p = take_digit(k, P), c = take_digit(k, C), n = pictures[k];
    const size *row = rows + 2 * (k * P + p), *column = columns + 2 * (k * Q + q);
    bool is_nowhere = n < 0 || n >= N || row[0] < 0 || column[0] < 0;
    if (is_nowhere || row[0] >= row[1] || column[0] >= column[1]) {
      store(y, u, is_nowhere ? NAN : 0.0f);
      chosen[u] = -1;
      continue;
    }
    float largest = -INFINITY;
    size best = row[0] * W + column[0];
    for (size h = row[0]; h < row[1]; h++)
      for (size w = column[0]; w < column[1]; w++) {
        float v = load(x, ((n * C + c) * H + h) * W + w);
        if (!(v <= largest) && largest == largest) largest = v, best = h * W + w;
      }
    store(y, u, largest);
    chosen[u] = (int)best;
  }
}

// dx is the sum of dy of the bins that chose a place, box after box.
extern "C" __global__ void largest_in_regions_dx(const X *dy, const int *chosen, Y *dx,
                                                 const size *pictures, size K, size N, size C,
                                                 size places, size bins) {
  for (size u = first_index(); u < N * C * places; u += all_threads()) {
    size n = u, i = take_digit(n, places), c = take_digit(n, C);
    Sum sum = {0.0f, 0.0f, 0};
    for (size k = 0; k < K; k++)
      if (pictures[k] == n)
        for (size b = (k * C + c) * bins; b < (k * C + c + 1) * bins; b++)
          if (chosen[b] == i) add(sum, load(dy, b));
    store(dx, u, value(sum));
  }
}
