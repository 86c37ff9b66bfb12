// Running statistics: running <- (1 - momentum) running + momentum new, if all stay finite as they
// are stored. One block looks at all before it writes any. factor: of the new variance.
extern "C" __global__ void __launch_bounds__(THREADS)
    mix_in(size n, R *mean, R *var, const float *new_mean, const float *new_var, float kept,
           float momentum, float factor) {
  int bad = 0;
  for (size i = threadIdx.x; i < 2 * n; i += blockDim.x) {
    R mixed[1];
    float v = i < n ? kept * load(mean, i) + momentum * new_mean[i]
                    : kept * load(var, i - n) + momentum * (new_var[i - n] * factor);
    store(mixed, 0, v);
    bad |= !isfinite(load(mixed, 0));
  }
  if (__syncthreads_or(bad)) return;
  for (size i = threadIdx.x; i < 2 * n; i += blockDim.x) {
    if (i < n) store(mean, i, kept * load(mean, i) + momentum * new_mean[i]);
    else store(var, i - n, kept * load(var, i - n) + momentum * (new_var[i - n] * factor));
  }
}
