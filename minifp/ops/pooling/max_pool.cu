// The largest of windows of x (A, H, W), and which place of the window it was: y, chosen (A, P, Q).
//
// A number wins unless it is <= the largest so far, or that is NaN: so the first of equal ones
// stays, and the first NaN. K is the format of places.

__device__ inline bool wins(float v, int k, float largest, int chosen) {
  if (largest != largest) return v != v && k < chosen;
  return v != v || v > largest || (v == largest && k < chosen);
}

extern "C" __global__ void max_pool(const X *x, Y *y, K *chosen, size A, AXES) {
  for (EACH_WINDOW(A * P * Q)) {
    size a = u, q = take_digit(a, Q), p = take_digit(a, P);
    Seen down = seen(DOWN, p), across = seen(ACROSS, q);
    float largest = -INFINITY;
    int best = 0x7fffffff;
    for (int i = down.low; i < down.high; i++)
      for (int j = across.low + (int)lane; j < across.high; j += LANES) {
        float v = load(x, (a * H + down.first + i * DH) * W + across.first + j * DW);
        int k = i * (int)KW + j;
        if (wins(v, k, largest, best)) largest = v, best = k;
      }
    for (int o = LANES / 2; o; o /= 2) {
      float v = __shfl_xor_sync(0xffffffffu, largest, o);
      int k = __shfl_xor_sync(0xffffffffu, best, o);
      if (wins(v, k, largest, best)) largest = v, best = k;
    }
    if (lane == 0) {
      store(y, u, largest);
      chosen[u] = (K)best;
    }
  }
}

// dx is the sum of dy of the windows that chose a place.
extern "C" __global__ void max_pool_dx(const X *dy, const K *chosen, Y *dx, size A, AXES) {
  for (size u = first_index(); u < A * H * W; u += all_threads()) {
    size a = u, w = take_digit(a, W), h = take_digit(a, H);
    Seeing down = seeing(DOWN, h), across = seeing(ACROSS, w);
    Sum sum = {0.0f, 0.0f, 0};
    for (int p = down.first; p <= down.last; p++) {
      int i = number(DOWN, p, h);
      for (int q = across.first; i >= 0 && q <= across.last; q++) {
        int j = number(ACROSS, q, w);
        size at = (a * P + p) * Q + q;
        if (j >= 0 && chosen[at] == i * KW + j) add(sum, load(dy, at));
      }
    }
    store(dx, u, value(sum));
  }
}
