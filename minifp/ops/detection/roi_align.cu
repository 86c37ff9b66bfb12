// Means of pictures x (N, C, H, W) inside of K boxes: y (K, C, P, Q), by weights of rows, down
// (K, P, H), and of columns, across (K, Q, W): see roi_align.py. A weight of 0 is none.

// The weights of n places in `count` bins of each box: a thread takes a bin.
extern "C" __global__ void roi_weights(const float *low, const float *high, float *weights, size K,
                                       size n, size count, float scale, size ratio, size aligned) {
  for (size b = first_index(); b < K * count; b += all_threads()) {
    size k = b, p = take_digit(k, count);
    float *row = weights + b * n;
    for (size i = 0; i < n; i++) row[i] = 0.0f;
    float offset = aligned ? 0.5f : 0.0f;
    float start = low[k] * scale - offset, length = high[k] * scale - offset - start;
    if (!(fabsf(start) < INFINITY && fabsf(length) < INFINITY)) {
      row[0] = NAN;
      continue;
    }
    float bin = fmaxf(length, aligned ? 0.0f : 1.0f) / (float)count;
    float samples = ratio ? (float)ratio : ceilf(bin), begin = start + (float)p * bin;
    float step = bin / samples, first = 0.0f, stop = samples;
    if (step > 0.0f) {  // those far outside are not gone through one by one
      first = fminf(fmaxf(floorf((-1.0f - begin) / step) - 2.0f, 0.0f), samples);
      stop = fminf(fmaxf(ceilf(((float)n - begin) / step) + 2.0f, 0.0f), samples);
    }
    for (size i = (size)first; i < (size)stop; i++) {
      float u = begin + ((float)i + 0.5f) * bin / samples;
      if (!(u >= -1.0f && u <= (float)n)) continue;
      u = fminf(fmaxf(u, 0.0f), (float)(n - 1));
      size place = (size)u;
      float f = u - (float)place;
      row[place] += (1.0f - f) / samples;
      row[min(place + 1, n - 1)] += f / samples;
    }
  }
}

// Of each bin the first of its places that has a weight, and the one behind the last.
extern "C" __global__ void roi_spans(const float *weights, size *spans, size bins, size n) {
  for (size b = first_index(); b < bins; b += all_threads()) {
    size first = n, stop = 0;
    for (size i = 0; i < n; i++)
      if (weights[b * n + i] != 0.0f) first = min(first, i), stop = i + 1;
    spans[2 * b] = min(first, stop);
    spans[2 * b + 1] = stop;
  }
}

#define WEIGHTS                                                                                    \
  const float *down, const float *across, const size *rows, const size *columns,                   \
      const size *pictures, size K, size N, size C, size H, size W, size P, size Q

extern "C" __global__ void align_regions(const X *x, Y *y, WEIGHTS) {
  for (size u = first_index(); u < K * C * P * Q; u += all_threads()) {
    size k = u, q = take_digit(k, Q), p = take_digit(k, P), c = take_digit(k, C), n = pictures[k];
    if (n < 0 || n >= N) {
      store(y, u, NAN);
      continue;
    }
    const size *row = rows + 2 * (k * P + p), *column = columns + 2 * (k * Q + q);
    Sum sum = {0.0f, 0.0f, 0};
    for (size h = row[0]; h < row[1]; h++) {
      float by_row = down[(k * P + p) * H + h];
      if (by_row == 0.0f) continue;
      Sum along = {0.0f, 0.0f, 0};
      for (size w = column[0]; w < column[1]; w++) {
        float weight = across[(k * Q + q) * W + w];
        if (weight != 0.0f) add(along, weight * load(x, ((n * C + c) * H + h) * W + w));
      }
      add(sum, by_row * value(along));
    }
    store(y, u, value(sum));
  }
}

// dx is the sum of dy of the bins in which a place has a weight, box after box.
extern "C" __global__ void align_regions_dx(const X *dy, Y *dx, WEIGHTS) {
  for (size u = first_index(); u < N * C * H * W; u += all_threads()) {
    size n = u, w = take_digit(n, W), h = take_digit(n, H), c = take_digit(n, C);
    Sum sum = {0.0f, 0.0f, 0};
    for (size k = 0; k < K; k++) {
      if (pictures[k] != n) continue;
      for (size p = 0; p < P; p++) {
        const size *row = rows + 2 * (k * P + p);
        if (h < row[0] || h >= row[1]) continue;
        float by_row = down[(k * P + p) * H + h];
        if (by_row == 0.0f) continue;
        Sum along = {0.0f, 0.0f, 0};
        bool is_seen = false;
        for (size q = 0; q < Q; q++) {
          const size *column = columns + 2 * (k * Q + q);
          if (w < column[0] || w >= column[1]) continue;
          float weight = across[(k * Q + q) * W + w];
          if (weight == 0.0f) continue;
          is_seen = true;
          add(along, weight * load(dy, ((k * C + c) * P + p) * Q + q));
        }
        if (is_seen) add(sum, by_row * value(along));
      }
    }
    store(dx, u, value(sum));
  }
}
