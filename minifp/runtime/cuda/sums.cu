// Sums of what is computed element by element: y[k] = scale * sum over r of f(x0, x1, ...). OP is
// another reduction perhaps.
//
// k counts what is kept, r what is summed over, both in C order of their axes. A block holds
// ACROSS kept elements times THREADS / ACROSS threads for each; it sums `length` addends of each,
// and blocks beyond the first sum the ones after. Parts of one sum go into a workspace (parts,
// kept), which a second launch sums. The order of additions is decided by shapes alone.
extern "C" __global__ void sums(size kept, size count, size length, int across, int inner$SIZES,
                                $ARRAYS, Y *y, float scale$NUMBERS) {
  __shared__ float shared[THREADS];
  int along = THREADS / across;  // threads of one sum
  int t = threadIdx.x;
  int mine = inner ? t / along : t % across, lane = inner ? t % along : t / across;
  size groups = (kept + across - 1) / across;
  for (size b = blockIdx.x; b < groups * ((count + length - 1) / length); b += gridDim.x) {
    size k = b % groups * across + mine, start = b / groups * length;
    size stop = min(start + length, count);
    float total = nothing<OP>();
    if (k < kept) {
      INDEX rest = (INDEX)k;
      $KEPT
      for (size r = start + lane; r < stop; r += along) {
        rest = (INDEX)r;
        $PLACES
        total = joined<OP>(total, f($GATHERED));
      }
    }
    __syncthreads();  // nobody still reads the sums before
    shared[inner ? t : mine * along + lane] = total;
    __syncthreads();
    for (int o = along / 2; o; o /= 2) {
      float *mine_at = shared + mine * along + lane;
      if (lane < o) *mine_at = joined<OP>(*mine_at, mine_at[o]);
      __syncthreads();
    }
    if (lane == 0 && k < kept) store(y, b / groups * kept + k, shared[mine * along] * scale);
  }
}
