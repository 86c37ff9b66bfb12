// Operands of products, rounded to the numbers of F over a scale: see minifp/numerics/operands.py.
//
// x (rows, K) in C order, y likewise. amax: of each row the largest magnitude, or missing: no scale.
// largest: the largest number of F; top: the largest of x's format that has as few bits.

// log2 of the scale: of 2^floor(log2(largest / amax)), in the bits of both; 0 of 0, Inf and NaN.
__device__ inline int exponent_of(float amax, float largest) {
  int found = __float_as_int(amax), most = __float_as_int(largest), exponent = 0;
  if (0 < found && found < 0x7f800000)
    exponent = (most >> 23) - (found >> 23) - ((found & 0x7fffff) > (most & 0x7fffff));
  return min(max(exponent, -MOST), MOST);
}
__device__ inline float power_of_two(int exponent) {
  return __int_as_float((127 + exponent) << 23);
}
__device__ inline float within(float v, float most) { return fminf(fmaxf(v, -most), most); }

extern "C" __global__ void round_scaled(const X *x, const float *amax, X *y, size n, size K,
                                        float largest, float top) {
  for (size i = first_index(); i < n; i += all_threads()) {
    int exponent = amax ? exponent_of(amax[i / K], largest) : 0;
    float v = load(x, i);
    float r = rounded<F>(within(v * power_of_two(exponent), largest)) * power_of_two(-exponent);
    store(y, i, isfinite(v) ? within(r, top) : v);
  }
}

// The same in two halves: x as codes of F (numerics/operand_codes.py), and these as numbers again.
// amax: of all of x; scaled: whether there is a scale. Where F has no Inf its NaN stand for it, too.
extern "C" __global__ void encode_scaled(const X *x, const float *amax, F *codes, size n, size scaled,
                                         float largest) {
  float scale = power_of_two(scaled ? exponent_of(*amax, largest) : 0);
  for (size i = first_index(); i < n; i += all_threads()) {
    float v = load(x, i);
    store(codes, i, isfinite(v) ? within(v * scale, largest) : v);
  }
}

// What the sums of such codes are multiplied by: 1 over the scale.
extern "C" __global__ void scale_back(const float *amax, float *back, float largest) {
  if (first_index() == 0) *back = power_of_two(-exponent_of(*amax, largest));
}

extern "C" __global__ void decode_scaled(const F *codes, const float *amax, X *y, size n, size scaled,
                                         float largest, float top) {
  float back = power_of_two(scaled ? -exponent_of(*amax, largest) : 0);
  for (size i = first_index(); i < n; i += all_threads()) {
    float v = load(codes, i);
    float special = isnan(v) && isinf(*amax) ? copysignf(INFINITY, v) : v;
    store(y, i, isfinite(v) ? within(v * back, top) : special);
  }
}
