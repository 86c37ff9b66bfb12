// Gradients, each where backward left it, in one array, and what there is to know of them.
// Copy up to COUNT gradients, each to its place in `flat`; add up squares, a double for each block;
// note which are not finite, and the bits of the largest |element|. A block takes CHUNK elements of
// one gradient, which gather_cuda.py lets it find by comparisons: gradient k has those from block
// b_k on.
extern "C" __global__ void gather(G *flat, double *squares, int *not_finite,
                                  int *largest$POINTERS) {
  size block = blockIdx.x, chunk = 0, start = 0, n = 0;
  const G *x = x_0;
  int k = 0;
  $FIND
  size stop = min(n, (chunk + 1) * (size)CHUNK);
  double total = 0.0;
  float most = 0.0f;
  bool bad = false;
  for (size i = chunk * CHUNK + threadIdx.x; i < stop; i += THREADS) {
    float v = load(x, i);
    flat[start + i] = x[i];
    bad |= !isfinite(v);
    most = fmaxf(most, fabsf(v));
    total += (double)v * v;
  }
  if (bad) atomicOr(not_finite + k, 1);
  total = block_total<THREADS>(total);
  most = block_joined<LARGEST>(most);
  if (threadIdx.x == 0) {
    squares[block] = total;
    atomicMax(largest, __float_as_int(most));  // floats that are not negative: in order of bits
  }
}
