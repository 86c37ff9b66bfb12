// The sum of what has the same place, and reading rows: see indexing_cuda.py.
//
// A key is a place and, in its low 32 bits, the number of the entry that has it. No two keys are
// the same, so there is one order of them; it is that of the entries, place by place.

typedef unsigned long long Key;


// Where element i of n goes when each two neighbouring sorted runs of `width` become one.
__device__ inline size merged_place(const Key *keys, size n, size i, size width) {
  size pair = i / (2 * width) * 2 * width;
  bool is_first = i - pair < width;
  size other = is_first ? pair + width : pair;
  size low = min(other, n), high = min(other + width, n);
  while (low < high) {  // the first in the other run that is not smaller
    size middle = (low + high) / 2;
    if (keys[middle] < keys[i]) low = middle + 1;
    else high = middle;
  }
  return is_first ? i + low - min(other, n) : i - width + low - other;
}

// The keys of index, sorted in runs of RUN. Places that are not there, or `skipped`, go behind n.
extern "C" __global__ void __launch_bounds__(1024)
    sort_runs(const I *index, Key *keys, size count, size n, size skipped) {
  __shared__ Key shared[2][RUN];
  size start = blockIdx.x * (size)RUN, here = min((size)RUN, count - start);
  for (size i = threadIdx.x; i < here; i += blockDim.x) {
    size place = index[start + i];
    if (place < 0 || place >= n || place == skipped) place = n;
    shared[0][i] = (Key)place << 32 | (Key)(start + i);
  }
  int from = 0;
  for (size width = 1; width < RUN; width *= 2, from = 1 - from) {
    __syncthreads();
    for (size i = threadIdx.x; i < here; i += blockDim.x)
      shared[1 - from][merged_place(shared[from], here, i, width)] = shared[from][i];
  }
  __syncthreads();
  for (size i = threadIdx.x; i < here; i += blockDim.x) keys[start + i] = shared[from][i];
}

extern "C" __global__ void merge_runs(const Key *keys, Key *out, size count, size width) {
  for (size i = first_index(); i < count; i += all_threads())
    out[merged_place(keys, count, i, width)] = keys[i];
}

// starts[v]: where the entries of place v begin; those of n are the ones left out.
extern "C" __global__ void find_starts(const Key *keys, size *starts, size count, size n) {
  for (size v = first_index(); v <= n; v += all_threads()) {
    size low = 0, high = count;
    while (low < high) {
      size middle = (low + high) / 2;
      if ((size)(keys[middle] >> 32) < v) low = middle + 1;
      else high = middle;
    }
    starts[v] = low;
  }
}

// total = the sum of every `along`-th entry of a run from `i` on: 16 at a time in float32.
__device__ inline void add_entries(double *total, const X *y, const Key *keys, size i, size stop,
                                   size along, size width, size at) {
  while (i < stop) {
    float part[PACK] = {};
#pragma unroll 4
    for (int more = 0; more < 16 && i < stop; more++, i += along) {
      auto pack = load_pack<X, PACK>(y, at + (size)(unsigned)keys[i] * width);
#pragma unroll
      for (int k = 0; k < PACK; k++) part[k] += load(pack.v, k);
    }
#pragma unroll
    for (int k = 0; k < PACK; k++) total[k] += part[k];
  }
}

// out[a, v, d] = base[a, v, d] + factor times the sum of y[a, k, d] over all k of place v.
__device__ inline void put_sum(const double *total, const B *base, Y *out, size at, float factor,
                               size based) {
  Pack<B, PACK> before;
  Pack<Y, PACK> sums;
  if (based) before = load_pack<B, PACK>(base, at);
#pragma unroll
  for (int k = 0; k < PACK; k++) {
    float sum = factor * (float)total[k];
    store(sums.v, k, based ? sum + load(before.v, k) : sum);
  }
  store_pack<Y, PACK>(out, at, sums);
}

// A thread a pack of out, of runs of up to LONG entries.
extern "C" __global__ void add_short(const X *y, const Key *keys, const size *starts, const B *base,
                                     Y *out, size A, size count, size n, size width, float factor,
                                     size based) {
  size packs = width / PACK;
  for (size i = first_index(); i < A * n * packs; i += all_threads()) {
    size d = i % packs * PACK, v = i / packs % n, a = i / packs / n;
    size first = starts[v], last = starts[v + 1];
    if (last - first > LONG) continue;
    double total[PACK] = {};
    add_entries(total, y, keys, first, last, 1, width, a * count * width + d);
    put_sum(total, base, out, i * PACK, factor, based);
  }
}

// Runs of more entries: each contains a multiple of LONG, the first of which says which block's it
// is. 32 threads, a warp apart, share a pack; a warp reads packs beside each other.
extern "C" __global__ void add_long(const X *y, const Key *keys, const size *starts, const B *base,
                                    Y *out, size A, size count, size n, size width, float factor,
                                    size based) {
  __shared__ double shared[ALONG][32];
  size tiles = (width / PACK + 31) / 32, positions = (count + LONG - 1) / LONG;
  size tile = blockIdx.x % tiles, position = blockIdx.x / tiles % positions * LONG;
  size a = blockIdx.x / tiles / positions;
  size v = (size)(keys[position] >> 32);
  if (v >= n) return;
  size first = starts[v], last = starts[v + 1];
  if (last - first <= LONG || position - first >= LONG) return;
  int lane = threadIdx.x % 32, share = threadIdx.x / 32;
  size d = (tile * 32 + lane) * PACK;
  double total[PACK] = {};
  if (d < width)
    add_entries(total, y, keys, first + share, last, ALONG, width, a * count * width + d);
  for (int k = 0; k < PACK; k++) {
    shared[share][lane] = total[k];
    for (int o = ALONG / 2; o; o /= 2) {
      __syncthreads();
      if (share < o) shared[share][lane] += shared[share + o][lane];
    }
    __syncthreads();
    total[k] = shared[0][lane];
    __syncthreads();
  }
  if (share == 0 && d < width)
    put_sum(total, base, out, (a * n + v) * width + d, factor, based);
}

// out[a, k, d] = x[a, index[k], d]; NaN where there is no such place.
extern "C" __global__ void read_places(const X *x, const I *index, X *out, size A, size count,
                                       size n, size width) {
  size packs = width / PACK;
  for (size i = first_index(); i < A * count * packs; i += all_threads()) {
    size d = i % packs * PACK, place = index[i / packs % count], a = i / packs / count;
    Pack<X, PACK> pack;
    if (place >= 0 && place < n) {
      pack = load_pack<X, PACK>(x, (a * n + place) * width + d);
    } else {
#pragma unroll
      for (int k = 0; k < PACK; k++) store(pack.v, k, NAN);
    }
    store_pack<X, PACK>(out, i * PACK, pack);
  }
}

// The places in (A, n, D), in C order, that index (A, K, D) names along the middle axis; or -1.
extern "C" __global__ void flat_places(const I *index, size *places, size A, size K, size D,
                                       size n) {
  for (size i = first_index(); i < A * K * D; i += all_threads()) {
    size place = index[i];
    places[i] = place < 0 || place >= n ? -1 : (i / D / K * n + place) * D + i % D;
  }
}
