// The gradient of a gate: dx (A, 2, size) of dy (A, size) and x = (a, b) (A, 2, size); see glu_prelu.py.
extern "C" __global__ void glu_dx(const D *dy, const X *x, Y *dx, size n, size width) {
  for (size i = first_index(); i < n; i += all_threads()) {
    size at = i / width * width + i;
    float d = load(dy, i), a = load(x, at), b = load(x, at + width);
    float e = expf(-fabsf(b)), more = 1.0f / (1.0f + e);
    store(dx, at, d * (b < 0.0f ? e * more : more));
    store(dx, at + width, d * (a * more * (e * more)));  // the sigmoids of b and -b
  }
}
