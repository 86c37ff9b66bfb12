// What dropout does with the random numbers of random.cuh.
//
// k0, k1: the key. call: the number of the call. stream: null, or memory in which a graph has the
// key and the number of the first call of its step, to which `call` is added.

__device__ inline float uniform(unsigned word) { return (word >> 8) * 5.9604644775390625e-8f; }

struct Draw {
  unsigned k0, k1;
  unsigned long long call;
};
__device__ inline Draw draw_of(unsigned k0, unsigned k1, size call, const size *stream) {
  Draw d = {k0, k1, (unsigned long long)call};
  if (stream) {
    d.k0 = (unsigned)stream[0];
    d.k1 = (unsigned)stream[1];
    d.call += (unsigned long long)stream[2];
  }
  return d;
}

// y = x kept / (1 - p), without storing what is kept: backward draws the same numbers.
extern "C" __global__ void dropout(size n, const X *x, Y *y, float p, float factor, unsigned k0,
                                   unsigned k1, size call, const size *stream) {
  Draw d = draw_of(k0, k1, call, stream);
  for (size block = first_index(); 4 * block < n; block += all_threads()) {
    unsigned words[4];
    philox(d.k0, d.k1, (unsigned long long)block, d.call, words);
    for (int k = 0; k < 4; k++) {
      size i = 4 * block + k;
      if (i < n) store(y, i, load(x, i) * (uniform(words[k]) >= p ? 1.0f : 0.0f) * factor);
    }
  }
}

// Which numbers are kept.
extern "C" __global__ void dropout_mask(size n, bool *y, float p, unsigned k0, unsigned k1,
                                        size call, const size *stream) {
  Draw d = draw_of(k0, k1, call, stream);
  for (size block = first_index(); 4 * block < n; block += all_threads()) {
    unsigned words[4];
    philox(d.k0, d.k1, (unsigned long long)block, d.call, words);
    for (int k = 0; k < 4; k++)
      if (4 * block + k < n) y[4 * block + k] = uniform(words[k]) >= p;
  }
}

// At the end of a graph: its next step's calls begin where this one's ended.
extern "C" __global__ void advance_draws(size *stream, size calls) {
  if (threadIdx.x == 0 && blockIdx.x == 0) stream[2] += calls;
}
