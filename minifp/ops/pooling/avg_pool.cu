// Means of windows of x (A, H, W): y (A, P, Q), and their gradient.
//
// What a sum is divided by: `override`, unless it is 0; or else how many places the window has,
// with those in the padding if `pad` is set.

__device__ inline size places(Axis a, size p, size pad) {
  Seen s = seen(a, p);
  if (!pad || !a.stride) return s.high - s.low;
  return min(s.first + a.size_, a.n + a.padding) - s.first;
}

extern "C" __global__ void avg_pool(const X *x, Y *y, size A, size pad, float override, AXES) {
  for (EACH_WINDOW(A * P * Q)) {
    size a = u, q = take_digit(a, Q), p = take_digit(a, P);
    Seen down = seen(DOWN, p), across = seen(ACROSS, q);
    Sum sum = {0.0f, 0.0f, 0};
    for (int i = down.low; i < down.high; i++)
      for (int j = across.low + (int)lane; j < across.high; j += LANES)
        add(sum, load(x, (a * H + down.first + i) * W + across.first + j));
    float total = value(sum);
    for (int o = LANES / 2; o; o /= 2) total += __shfl_xor_sync(0xffffffffu, total, o);
    float by = (float)places(DOWN, p, pad) * (float)places(ACROSS, q, pad);
    if (lane == 0) store(y, u, total / (override != 0.0f ? override : by));
  }
}

extern "C" __global__ void avg_pool_dx(const X *dy, Y *dx, size A, size pad, float override, AXES) {
  for (size u = first_index(); u < A * H * W; u += all_threads()) {
    size a = u, w = take_digit(a, W), h = take_digit(a, H);
    Seeing down = seeing(DOWN, h), across = seeing(ACROSS, w);
    Sum sum = {0.0f, 0.0f, 0};
    for (int p = down.first; p <= down.last; p++) {
      float rows = (float)places(DOWN, p, pad);
      for (int q = across.first; q <= across.last; q++) {
        float by = override != 0.0f ? override : rows * (float)places(ACROSS, q, pad);
        add(sum, load(dy, (a * P + p) * Q + q) / by);
      }
    }
    store(dx, u, value(sum));
  }
}
