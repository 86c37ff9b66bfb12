// Operands of products, rounded to the numbers of F over a scale: see minifp/numerics/operands.py.
//
// x (rows, K) in C order, y likewise. amax: of each row the largest magnitude, or missing: no scale.
// largest: the largest number of F; top: the largest of x's format that has as few bits.
extern "C" __global__ void round_scaled(const X *x, const float *amax, X *y, size n, size K,
                                        float largest, float top) {
  for (size i = first_index(); i < n; i += all_threads()) {
    int exponent = 0;
    if (amax) {  // 2^floor(log2(largest / amax)), in the bits of both
      int found = __float_as_int(amax[i / K]), most = __float_as_int(largest);
      if (0 < found && found < 0x7f800000) {  // or else 0, Inf or NaN
        exponent = (most >> 23) - (found >> 23) - ((found & 0x7fffff) > (most & 0x7fffff));
        exponent = min(max(exponent, -MOST), MOST);
      }
    }
    float scale = __int_as_float((127 + exponent) << 23);
    float back = __int_as_float((127 - exponent) << 23);
    float v = load(x, i);
    float r = rounded<F>(fminf(fmaxf(v * scale, -largest), largest)) * back;
    store(y, i, isfinite(v) ? fminf(fmaxf(r, -top), top) : v);
  }
}
