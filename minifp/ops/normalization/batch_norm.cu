// Planes of channels: means and variances of x (N, J, L) for each j, sums of a gradient, and what
// they are for. Group normalisation has each group for a j.
//
// A block takes THREADS / along columns j, and `length` of the N L elements of each, with `along`
// threads. Where L is short, elements of a channel are columns of their own: a channel is `each` of
// them. Parts of one channel are joined by a second launch. The order of additions is decided by
// shapes alone. PACK elements are read at once; L is a multiple of it where N L is divided.

enum { THREADS = 256, EACH = PACK > 1 ? 32 : 16 };  // EACH: elements of a thread, at most

struct Tile {
  size part, j, start, stop;
  int mine, lane, along;
  size n, l, dn, dl;  // where the first elements of a thread are, and how far the next ones
};
#define TILES size N, size J, size L, size length, size along, size inner
__device__ inline size tiles(size count, size J, size length, size along) {
  size across = THREADS / along;
  return (J + across - 1) / across * ((count + length - 1) / length);
}
__device__ inline Tile tile(size b, TILES) {
  int t = threadIdx.x, a = (int)along, across = THREADS / a;
  Tile it;
  it.mine = inner ? t / a : t % across;
  it.lane = inner ? t % a : t / across;
  it.along = a;
  it.part = b;
  it.j = take_digit(it.part, (J + across - 1) / across) * across + it.mine;
  it.start = it.part * length;
  it.stop = it.j < J ? min(it.start + length, N * L) : 0;
  it.n = it.start + it.lane * PACK;
  it.l = take_digit(it.n, L);
  it.dn = along * PACK;
  it.dl = take_digit(it.dn, L);
  return it;
}
__device__ inline bool has(const Tile &it, int k) {
  return it.start + (it.lane + k * (size)it.along) * PACK < it.stop;
}
__device__ inline size next(Tile &it, size J, size L) {
  size at = (it.n * J + it.j) * L + it.l;
  it.l += it.dl;
  it.n += it.dn;
  if (it.l >= L) it.l -= L, it.n++;
  return at;
}
// Of all threads of a column, for all of them.
__device__ inline float column_sum(const Tile &it, float v) {
  if (it.along == THREADS) return block_sum(v);
  __shared__ float shared[THREADS];
  __syncthreads();  // nobody still reads the sums before
  float *own = shared + it.mine * it.along;
  own[it.lane] = v;
  __syncthreads();
  for (int o = it.along / 2; o; o /= 2) {
    if (it.lane < o) own[it.lane] += own[it.lane + o];
    __syncthreads();
  }
  return own[0];
}

// A variance, or with an eps of 0 or more 1 / sqrt(variance + eps).
__device__ inline float finished(float variance, float eps) {
  return eps < 0.0f ? variance : 1.0f / sqrtf(variance + eps);
}

// Of each part its mean, and the sum of (x - mean)^2; or, if they are not joined, the variance.
extern "C" __global__ void plane_moments(const X *x, float *means, float *squares, size joined,
                                         float eps, TILES) {
  for (size b = blockIdx.x; b < tiles(N * L, J, length, along); b += gridDim.x) {
    Tile it = tile(b, N, J, L, length, along, inner);
    float v[EACH], total = 0.0f, square = 0.0f;
#pragma unroll
    for (int k = 0; k < EACH / PACK; k++) {
      size at = next(it, J, L);
      if (has(it, k)) {
        Pack<X, PACK> p = load_pack<X, PACK>(x, at);
#pragma unroll
        for (int i = 0; i < PACK; i++) total += v[k * PACK + i] = load(p.v, i);
      }
    }
    float count = (float)max(it.stop - it.start, (size)1), mean = column_sum(it, total) / count;
#pragma unroll
    for (int k = 0; k < EACH / PACK; k++)
      if (has(it, k))
#pragma unroll
        for (int i = 0; i < PACK; i++) {
          float apart = v[k * PACK + i] - mean;
          square += apart * apart;
        }
    square = column_sum(it, square);
    if (it.lane == 0 && it.j < J) {
      means[it.part * J + it.j] = mean;
      squares[it.part * J + it.j] = joined ? square : finished(square / count, eps);
    }
  }
}

// Means and variances of C channels from those of their parts (Chan, Golub and LeVeque 1979).
extern "C" __global__ void joined_moments(const float *means, const float *squares, float *m,
                                          float *v, size C, size each, size count, size length,
                                          float eps) {
  size parts = (count + length - 1) / length;
  for (size c = blockIdx.x; c < C; c += gridDim.x) {
    float total = 0.0f, square = 0.0f, all = (float)(count * each);
    for (size e = threadIdx.x; e < parts * each; e += blockDim.x) {
      size part = e / each, own = min(length, count - part * length);
      total += (float)own * means[(part * C + c) * each + e % each];
    }
    float mean = block_sum(total) / all;
    for (size e = threadIdx.x; e < parts * each; e += blockDim.x) {
      size part = e / each, own = min(length, count - part * length);
      size at = (part * C + c) * each + e % each;
      float apart = means[at] - mean;
      square += squares[at] + (float)own * apart * apart;
    }
    square = block_sum(square);
    if (threadIdx.x == 0) {
      m[c] = mean;
      v[c] = finished(square / all, eps);
    }
  }
}

// Of each part the sum of dy h, and that of dy: sums (2, parts, J). h = (x - m) r has its m and r
// at j / per. Of v, r is 1 / sqrt(v + eps), or v itself with an eps below 0.
extern "C" __global__ void plane_gradient_sums(const D *dy, const X *x, const float *m,
                                               const float *v, float *sums, float eps, size per,
                                               TILES) {
  size parts = (N * L + length - 1) / length;
  for (size b = blockIdx.x; b < tiles(N * L, J, length, along); b += gridDim.x) {
    Tile it = tile(b, N, J, L, length, along, inner);
    float with = 0.0f, plain = 0.0f, shift = 0.0f, root = 0.0f;
    if (it.j < J) {
      shift = m[it.j / per];
      root = eps < 0.0f ? v[it.j / per] : 1.0f / sqrtf(v[it.j / per] + eps);
    }
#pragma unroll 4
    for (int k = 0; k < EACH / PACK; k++) {
      size at = next(it, J, L);
      if (!has(it, k)) continue;
      Pack<D, PACK> d = load_pack<D, PACK>(dy, at);
      Pack<X, PACK> p = load_pack<X, PACK>(x, at);
#pragma unroll
      for (int i = 0; i < PACK; i++) {
        with += load(d.v, i) * ((load(p.v, i) - shift) * root);
        plain += load(d.v, i);
      }
    }
    with = column_sum(it, with);
    plain = column_sum(it, plain);
    if (it.lane == 0 && it.j < J) {
      sums[it.part * J + it.j] = with;
      sums[(parts + it.part) * J + it.j] = plain;
    }
  }
}

// ---- element by element, PACK at a time ----------------------------------------------------------
//
// Element i lies in plane p = i / L, of channel c = p % C. Its statistics are at p / per, and where
// `per` is 0 at c. Parameters may be missing.

struct Plane {
  float shift, root, weight, bias, with, plain;
};
__device__ inline Plane plane(size p, const float *w, const float *b, const float *m,
                              const float *v, const float *with, const float *plain, size C,
                              size per, float eps, float share) {
  size rest = p, c = take_digit(rest, C), s = c;
  if (per) {
    s = p;
    take_digit(s, per);
  }
  float root = eps < 0.0f ? v[s] : 1.0f / sqrtf(v[s] + eps);
  return {m[s], root, w ? w[c] : 1.0f, b ? b[c] : -0.0f, with ? with[s] * share : 0.0f,
          plain ? plain[s] * share : 0.0f};
}

extern "C" __global__ void normalised_planes(const X *x, const float *w, const float *b,
                                             const float *m, const float *v, Y *y, size total,
                                             size C, size L, size per, float eps) {
  for (size i = first_index() * PACK; i < total; i += all_threads() * PACK) {
    size p = i, l = take_digit(p, L), n = min(total - i, (size)PACK);
    Plane f = plane(p, w, b, m, v, nullptr, nullptr, C, per, eps, 0.0f);
    Pack<X, PACK> a;
    Pack<Y, PACK> r;
    if (n == PACK) a = load_pack<X, PACK>(x, i);
    for (int k = 0; n < PACK && k < n; k++) a.v[k] = x[i + k];
#pragma unroll
    for (int k = 0; k < PACK; k++) {
      if (l == L && k < n) {
        l = 0;
        f = plane(++p, w, b, m, v, nullptr, nullptr, C, per, eps, 0.0f);
      }
      l++;
      if (k < n) store(r.v, k, (load(a.v, k) - f.shift) * (f.weight * f.root) + f.bias);
    }
    if (n == PACK) store_pack<Y, PACK>(y, i, r);
    for (int k = 0; n < PACK && k < n; k++) y[i + k] = r.v[k];
  }
}

// dx = w r (dy - plain - h with) of batches, dx = r (w dy - plain - h with) of groups; both sums are
// first multiplied by `share`. Without them, dx = w r dy.
extern "C" __global__ void planes_dx(const D *dy, const X *x, const float *w, const float *m,
                                     const float *v, const float *with, const float *plain, Y *dx,
                                     size total, size C, size L, size per, float eps,
                                     float share) {
  for (size i = first_index() * PACK; i < total; i += all_threads() * PACK) {
    size p = i, l = take_digit(p, L), n = min(total - i, (size)PACK);
    Plane f = plane(p, w, nullptr, m, v, with, plain, C, per, eps, share);
    Pack<D, PACK> d;
    Pack<X, PACK> a;
    Pack<Y, PACK> r;
    if (n == PACK) {
      d = load_pack<D, PACK>(dy, i);
      a = load_pack<X, PACK>(x, i);
    }
    for (int k = 0; n < PACK && k < n; k++) d.v[k] = dy[i + k], a.v[k] = x[i + k];
#pragma unroll
    for (int k = 0; k < PACK; k++) {
      if (l == L && k < n) {
        l = 0;
        f = plane(++p, w, nullptr, m, v, with, plain, C, per, eps, share);
      }
      l++;
      if (k >= n) continue;
      float g = per ? load(d.v, k) * f.weight : load(d.v, k);
      if (with) g = g - f.plain - (load(a.v, k) - f.shift) * f.root * f.with;
      store(r.v, k, g * (per ? f.root : f.weight * f.root));
    }
    if (n == PACK) store_pack<Y, PACK>(dx, i, r);
    for (int k = 0; n < PACK && k < n; k++) dx[i + k] = r.v[k];
  }
}
