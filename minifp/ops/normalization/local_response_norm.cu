// Local response normalisation of x (N, C, L): a thread takes an element, and reads the window of
// channels around it, which lie L apart. Threads side by side read what lies side by side.

// For c, the sum over channels c - before to c + after of what `at` gives for each; u: its element.
template <class F>
__device__ inline float window_sum(size u, size C, size L, size before, size after, F at) {
  size c = u / L % C;
  size first = c > before ? c - before : 0, last = c + after < C ? c + after : C - 1;
  float sum = 0.0f;
  for (size i = first; i <= last; i++) sum += at(u + (i - c) * L);
  return sum;
}

// d of an element; alpha: divided by the windows' size.
__device__ inline float denominator(const X *x, size u, size C, size L, size before, size after,
                                    float alpha, float k) {
  auto square = [=](size i) { return load(x, i) * load(x, i); };
  return k + alpha * window_sum(u, C, L, before, after, square);
}

__device__ inline float inverse_power(float d, float beta) {
  if (beta != 0.75f) return powf(d, -beta);
  float root = sqrtf(d);
  return 1.0f / (root * sqrtf(root));
}

extern "C" __global__ void normalised(const X *x, Y *y, size total, size C, size L, size before,
                                      size after, float alpha, float beta, float k) {
  for (size u = first_index(); u < total; u += all_threads()) {
    float d = denominator(x, u, C, L, before, after, alpha, k);
    store(y, u, load(x, u) * inverse_power(d, beta));
  }
}

// direct = dy d^-beta, and what an element gives to each one that it has seen, shared = direct x / d.
extern "C" __global__ void shares(const D *dy, const X *x, float *direct, float *shared, size total,
                                  size C, size L, size before, size after, float alpha, float beta,
                                  float k) {
  for (size u = first_index(); u < total; u += all_threads()) {
    float d = denominator(x, u, C, L, before, after, alpha, k);
    direct[u] = load(dy, u) * inverse_power(d, beta);
    shared[u] = direct[u] * (load(x, u) / d);
  }
}

// dx = direct - factor x sum shared, over the elements that have seen this one.
extern "C" __global__ void gradient(const X *x, const float *direct, const float *shared, Y *dx,
                                    size total, size C, size L, size before, size after,
                                    float factor) {
  for (size u = first_index(); u < total; u += all_threads()) {
    auto share = [=](size i) { return shared[i]; };
    float sum = window_sum(u, C, L, after, before, share);
    store(dx, u, direct[u] - factor * load(x, u) * sum);
  }
}
