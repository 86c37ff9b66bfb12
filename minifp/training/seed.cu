// The seed of a backward pass: S, the first number of a step's memory (see step.cu), times the dial.
extern "C" __global__ void seed(const double *state, double dial, Y *y, size n) {
  for (size i = first_index(); i < n; i += all_threads()) store(y, i, (float)(state[0] * dial));
}
