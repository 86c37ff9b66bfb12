// What losses of classes weigh, and their sums: see class_targets.py.

// Sums of the losses of rows, sums[0, count), and of their weights, sums[count, 2 count). A block
// adds up PER of both. The sums of several blocks are as the arguments; of one block it is what is
// asked for: the loss, in a mean divided by the weights.
extern "C" __global__ void __launch_bounds__(WIDE)
    loss_totals(const float *sums, float *out, size count, size divided) {
  size start = blockIdx.x * (size)PER, stop = min(start + PER, count);
  float loss = 0.0f, weight = 0.0f;
  for (size i = start + threadIdx.x; i < stop; i += blockDim.x) {
    loss += sums[i];
    weight += sums[count + i];
  }
  loss = block_sum(loss);
  weight = block_sum(weight);
  if (threadIdx.x) return;
  if (gridDim.x == 1) {
    out[0] = divided ? loss / weight : loss;
  } else {
    out[blockIdx.x] = loss;
    out[gridDim.x + blockIdx.x] = weight;
  }
}

// The weights of rows of classes t, for `loss_totals`. w: (n) weights of classes, or unread.
extern "C" __global__ void __launch_bounds__(WIDE)
    row_weights(const T *t, const W *w, float *sums, size count, size n, size weighted,
                size ignored) {
  size start = blockIdx.x * (size)PER, stop = min(start + PER, count);
  float weight = 0.0f;
  for (size i = start + threadIdx.x; i < stop; i += blockDim.x) {
    size c = t[i];
    if (c != ignored && c >= 0 && c < n) weight += weighted ? load(w, c) : 1.0f;
  }
  weight = block_sum(weight);
  if (threadIdx.x) return;
  sums[blockIdx.x] = weight;
  sums[gridDim.x + blockIdx.x] = weight;
}
