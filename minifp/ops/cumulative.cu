// Running sums along rows, from the last element on if `backward`: see cumulative.py. A warp or,
// where rows lie beside each other, a thread goes along a row (group is 32 or 1); what came before
// is kept in double, so that long rows err no more than short ones.
extern "C" __global__ void cumsum(const X *x, Y *y, size rows, size n, size step, size group,
                                  size backward) {
  for (size b = blockIdx.x; b < blocks_of_rows(rows, group); b += gridDim.x) {
    Row r = row_of(b, rows, n, step, group);
    double before = 0.0;
    for (size c = 0; c * CHUNK * group < r.n; c++) {
      float v[CHUNK];
      size first = element<true>(r, c, 0);
      for (int k = 0; k < CHUNK; k++) {
        size e = first + k;
        v[k] = e < r.n ? load(x, r.at + (backward ? r.n - 1 - e : e) * step) : 0.0f;
        if (k) v[k] += v[k - 1];
      }
      double upto = v[CHUNK - 1], below = 0.0;
      if (group > 1) {
        for (int o = 1; o < 32; o *= 2) {
          double other = __shfl_up_sync(0xffffffffu, upto, o);
          if (r.lane >= o) upto += other;
        }
        below = __shfl_up_sync(0xffffffffu, upto, 1);
        if (r.lane == 0) below = 0.0;
      }
      for (int k = 0; k < CHUNK; k++) {
        size e = first + k;
        if (e < r.n)
          store(y, r.at + (backward ? r.n - 1 - e : e) * step, (float)(before + below + v[k]));
      }
      before += group > 1 ? __shfl_sync(0xffffffffu, upto, 31) : upto;
    }
  }
}
