// Sums of squares in double, of one array after the other: a part for each block. The largest
// |element|, by its bits: without their sign floats are in the order of these, NaN the largest.
extern "C" __global__ void gradient_squares(const X *x, size n, double *parts) {
  double total = 0.0;
  for (size i = first_index(); i < n; i += all_threads()) {
    float v = load(x, i);
    total += (double)v * v;
  }
  total = block_total<THREADS>(total);
  if (threadIdx.x == 0) parts[blockIdx.x] = total;
}

extern "C" __global__ void sum_of_parts(const double *parts, size n, double *y) {
  double sum = 0.0;
  for (size i = threadIdx.x; i < n; i += THREADS) sum += parts[i];
  sum = block_total<THREADS>(sum);
  if (threadIdx.x == 0) y[0] = sum;
}

extern "C" __global__ void largest_magnitude(const X *x, size n, int *bits) {
  int most = 0;
  for (size i = first_index(); i < n; i += all_threads()) {
    int v = __float_as_int(load(x, i)) & 0x7fffffff;
    if (v > most) most = v;
  }
  if (most > *bits) atomicMax(bits, most);
}
