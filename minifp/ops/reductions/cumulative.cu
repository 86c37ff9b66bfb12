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

// ---- products -----------------------------------------------------------------------------------

// m 2^e, with |m| from 1/2 to 1, or 0, Inf or NaN: no product of such numbers overflows.
struct Scaled {
  double m;
  size e;
};
__device__ inline Scaled scaled(double v, size e) {
  int more = 0;
  if (v != 0.0 && fabs(v) < INFINITY) v = frexp(v, &more);
  return {v, e + more};
}
__device__ inline Scaled times(const Scaled &a, const Scaled &b) {
  return scaled(a.m * b.m, a.e + b.e);
}
__device__ inline float value(const Scaled &a) {
  return (float)ldexp(a.m, (int)max(min(a.e, (size)9999), (size)-9999));
}

// The products of rows, y, and with `gradient` instead dx = dy times the product of the others.
extern "C" __global__ void __launch_bounds__(MOST_ALONG)
    prod(const X *x, D *y, Y *dx, size rows, size n, size step, size group, size gradient) {
  __shared__ double mantissas[MOST_ALONG];
  __shared__ size exponents[MOST_ALONG];
  __shared__ int found[MOST_ALONG];
  for (size b = blockIdx.x; b < blocks_of_rows(rows, group); b += gridDim.x) {
    Row r = row_of(b, rows, n, step, group);
    Scaled total = {1.0, 0};
    int zeros = 0, t = threadIdx.x, apart = step == 1 ? 1 : (int)(blockDim.x / group);
    for (size e = r.lane; e < r.n; e += group) {
      float v = load(x, r.at + e * step);
      if (gradient && v == 0.0f) zeros = min(zeros + 1, 2);
      else total = times(total, scaled(v, 0));
    }
    __syncthreads();  // nobody still reads the products before
    mantissas[t] = total.m, exponents[t] = total.e, found[t] = zeros;
    for (int o = (int)group / 2; o; o /= 2) {
      __syncthreads();
      if (r.lane < o) {
        int other = t + o * apart;
        total = times({mantissas[t], exponents[t]}, {mantissas[other], exponents[other]});
        mantissas[t] = total.m, exponents[t] = total.e, found[t] += found[other];
      }
    }
    __syncthreads();
    int first = step == 1 ? t - r.lane : t % apart;
    total = {mantissas[first], exponents[first]}, zeros = found[first];
    if (!gradient) {
      if (r.is_in && r.lane == 0) store(y, r.number, value(total));
      continue;
    }
    float d = r.is_in ? load(y, r.number) : 0.0f;
    for (size e = r.lane; e < r.n; e += group) {
      float v = load(x, r.at + e * step), others = 0.0f;
      if (v == 0.0f ? zeros == 1 : zeros == 0)
        others = value({v == 0.0f ? total.m : total.m / v, total.e});
      store(dx, r.at + e * step, d * others);
    }
  }
}

// Running products y along rows; with `gradient` also `without`, where 1 takes the place of the
// first 0, and how many zeros there were so far, at most 2. A warp or a thread goes along a row.
extern "C" __global__ void cumprod(const X *x, Y *y, float *without, float *zeros, size rows,
                                   size n, size step, size group, size gradient) {
  for (size b = blockIdx.x; b < blocks_of_rows(rows, group); b += gridDim.x) {
    Row r = row_of(b, rows, n, step, group);
    Scaled before = {1.0, 0};
    int count = 0;  // zeros so far, for which `before` has 1
    for (size c = 0; c * group < r.n; c++) {
      size e = c * group + r.lane, at = r.at + e * step;
      float v = e < r.n ? load(x, at) : 1.0f;
      Scaled upto = scaled(v == 0.0f ? 1.0f : v, 0);
      int here = v == 0.0f;
      for (int o = 1; o < group; o *= 2) {
        Scaled other = {__shfl_up_sync(0xffffffffu, upto.m, o),
                        __shfl_up_sync(0xffffffffu, upto.e, o)};
        int more = __shfl_up_sync(0xffffffffu, here, o);
        if (r.lane >= o) upto = times(other, upto), here += more;
      }
      Scaled now = times(before, upto);
      int so_far = min(count + here, 2);
      if (e < r.n) {
        float whole = value(now), none = (float)(now.m * 0.0);  // NaN of what is not finite
        store(y, at, so_far ? none : whole);
        if (gradient) {
          without[at] = so_far > 1 ? none : whole;
          zeros[at] = (float)so_far;
        }
      }
      before = now, count = so_far;
      if (group > 1) {
        before.m = __shfl_sync(0xffffffffu, now.m, 31);
        before.e = __shfl_sync(0xffffffffu, now.e, 31);
        count = __shfl_sync(0xffffffffu, so_far, 31);
      }
    }
  }
}
