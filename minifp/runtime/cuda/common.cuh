// What every text here begins with: stored numbers in and out, packs, and sums of a block.
#include <cuda_fp16.h>

typedef long long size;

#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif

// ---- codes of formats that CUDA has not, or not before some GPU -------------------------------------
//
// One bit of sign, then E bits of exponent and M of mantissa, with subnormal numbers. HAS_INF: Inf and
// NaN are as IEEE 754 has them; without, the last code is NaN, and stands for what is too large. In
// integers, but where the sum with a power of two does the rounding: no float32 here is subnormal,
// which with -ftz=true would be 0.

template <class Bits, int E, int M, bool HAS_INF> struct Code {
  Bits bits;
  enum : unsigned {
    BIAS = (1u << (E - 1)) - 1,
    SIGN = 1u << (E + M),
    MANTISSA = (1u << M) - 1,
    BEYOND = HAS_INF ? ((1u << E) - 1) << M : SIGN - 1,  // of what is too large
    QUIET_NAN = HAS_INF ? BEYOND | 1u << (M - 1) : BEYOND,
    LOST = 23 - M,  // bits of float32's mantissa
    // Of magnitudes in float32's places: from which on they are beyond (the half between the largest
    // number and this, where a tie goes to the even one), and below which they are subnormal.
    FIRST_BEYOND = (BEYOND << LOST) + ((127 - BIAS) << 23) - (1u << (LOST - 1)) + (HAS_INF ? 0 : 1),
    LEAST_NORMAL = (128 - BIAS) << 23
  };
};
typedef Code<unsigned short, 8, 7, true> bfloat16;
typedef Code<unsigned char, 4, 3, false> float8_e4m3fn;
typedef Code<unsigned char, 5, 2, true> float8_e5m2;

// ---- stored numbers ------------------------------------------------------------------------------

__device__ inline float load(const half *x, size i) { return __half2float(x[i]); }
__device__ inline float load(const float *x, size i) { return x[i]; }
__device__ inline float load(const bool *x, size i) { return x[i] ? 1.0f : 0.0f; }
__device__ inline float load(const size *x, size i) { return (float)x[i]; }
__device__ inline void store(half *y, size i, float v) { y[i] = __float2half_rn(v); }
__device__ inline void store(float *y, size i, float v) { y[i] = v; }
__device__ inline void store(bool *y, size i, float v) { y[i] = v != 0.0f; }

template <class Bits, int E, int M, bool HAS_INF>
__device__ inline float load(const Code<Bits, E, M, HAS_INF> *x, size i) {
  typedef Code<Bits, E, M, HAS_INF> C;
  unsigned bits = x[i].bits, magnitude = bits & (C::SIGN - 1), sign = (bits & C::SIGN) << (31 - E - M);
  unsigned wide = magnitude << C::LOST;
  if (E < 8) {
    if (magnitude >= C::BEYOND)
      wide = HAS_INF ? wide | 0x7f800000u : 0x7fc00000u;
    else if (magnitude <= C::MANTISSA)  // m 2^(1 - BIAS - M), whose factor is normal
      wide = __float_as_uint((float)magnitude * __uint_as_float((128u - C::BIAS - M) << 23));
    else
      wide += (127u - C::BIAS) << 23;
  }
  return __uint_as_float(wide | sign);
}
// Rounded once, to nearest, ties to even.
template <class Bits, int E, int M, bool HAS_INF>
__device__ inline void store(Code<Bits, E, M, HAS_INF> *y, size i, float v) {
  typedef Code<Bits, E, M, HAS_INF> C;
  unsigned bits = __float_as_uint(v), magnitude = bits & 0x7fffffffu;
  unsigned code = magnitude + ((1u << (C::LOST - 1)) - 1) + (magnitude >> C::LOST & 1u);
  code = (code - ((127u - C::BIAS) << 23)) >> C::LOST;
  if (E < 8) {
    if (magnitude < C::LEAST_NORMAL) {  // a sum whose last bit is that of the subnormal numbers
      unsigned unit = (128u - C::BIAS - M + 23) << 23;
      code = __float_as_uint(__uint_as_float(magnitude) + __uint_as_float(unit)) - unit;
    }
    if (magnitude >= C::FIRST_BEYOND) code = C::BEYOND;
  }
  if (magnitude > 0x7f800000u) code = C::QUIET_NAN;
  y[i].bits = (Bits)(code | (bits >> (31 - E - M) & C::SIGN));
}

// v as it is when it is stored, for what goes on computing with it.
template <class T> __device__ inline float rounded(float v) {
  T stored;
  store(&stored, 0, v);
  return load(&stored, 0);
}

// N numbers that are read or written at once, up to 16 bytes at a time.
template <class T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack {
  T v[N];
};
template <class T, int N> __device__ inline Pack<T, N> load_pack(const T *x, size i) {
  return *reinterpret_cast<const Pack<T, N> *>(x + i);
}
template <class T, int N> __device__ inline void store_pack(T *y, size i, const Pack<T, N> &p) {
  *reinterpret_cast<Pack<T, N> *>(y + i) = p;
}

// ---- where a thread is ---------------------------------------------------------------------------

__device__ inline size first_index() { return blockIdx.x * (size)blockDim.x + threadIdx.x; }
__device__ inline size all_threads() { return gridDim.x * (size)blockDim.x; }

// The last digit of a number written to this base, which it loses: with 32 bits where they do.
__device__ inline size take_digit(size &rest, size base) {
  if (((rest | base) >> 32) == 0) {
    unsigned whole = (unsigned)rest / (unsigned)base, digit = (unsigned)rest - whole * (unsigned)base;
    rest = whole;
    return digit;
  }
  size whole = rest / base, digit = rest - whole * base;
  rest = whole;
  return digit;
}

// ---- reductions of a block, in an order that only its size decides ---------------------------------

enum { SUM, LARGEST, LEAST };  // of which NaN is the largest and the least

template <int OP> __device__ inline float nothing() {
  return OP == SUM ? 0.0f : OP == LARGEST ? -INFINITY : INFINITY;
}
template <int OP> __device__ inline float joined(float a, float b) {
  return OP == SUM ? a + b : (OP == LARGEST ? b > a : b < a) || b != b ? b : a;
}
template <int OP> __device__ inline float warp_joined(float v) {
  for (int o = 16; o; o >>= 1) v = joined<OP>(v, __shfl_xor_sync(0xffffffffu, v, o));
  return v;
}
// Of all threads of a block of whole warps, for all of them.
template <int OP> __device__ inline float block_joined(float v) {
  __shared__ float parts[32];
  int warps = blockDim.x / 32, lane = threadIdx.x % 32;
  v = warp_joined<OP>(v);
  __syncthreads();  // nobody still reads the parts of before
  if (lane == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  return warp_joined<OP>(lane < warps ? parts[lane] : nothing<OP>());
}
__device__ inline float warp_sum(float v) { return warp_joined<SUM>(v); }
__device__ inline float block_sum(float v) { return block_joined<SUM>(v); }

// ---- threads that share a row ----------------------------------------------------------------
//
// A row is n elements that lie `step` apart, and `step` rows lie beside each other. Threads read
// what lies beside each other: `group` threads share a row where step is 1 (one thread, a warp or
// the block), and where it is not, the first elements of neighbouring rows come first.

enum { CHUNK = 8, MOST_ALONG = 256 };  // elements that a thread takes at once; threads of a block

struct Row {
  size number, at, n, step;  // its first element is at `at`; behind the last row n is 0
  int lane, group;
  bool is_in;
};
__device__ inline Row row_of(size block, size rows, size n, size step, size shared_by) {
  int t = threadIdx.x, group = (int)shared_by, across = blockDim.x / group;
  bool inner = step == 1;
  size r = block * across + (inner ? t / group : t % across);
  size at = inner ? r * n : r / step * n * step + r % step;
  return {r, at, r < rows ? n : 0, step, inner ? t % group : t / across, group, r < rows};
}
// Blocks of rows, and what a thread takes of a row: its element k of its chunk c.
__device__ inline size blocks_of_rows(size rows, size group) {
  size across = blockDim.x / group;
  return (rows + across - 1) / across;
}
__device__ inline size chunks(const Row &r) {
  return (r.n + CHUNK * r.group - 1) / (CHUNK * r.group);
}
template <bool PACKED> __device__ inline size element(const Row &r, size c, int k) {
  return PACKED ? (c * r.group + r.lane) * CHUNK + k : (c * CHUNK + k) * r.group + r.lane;
}
// What all threads of a row have, combined, for all of them. All threads of the block call it.
template <int OP> __device__ inline float row_joined(const Row &r, float v) {
  if (r.group == 1) return v;
  if (r.step == 1) return r.group == 32 ? warp_joined<OP>(v) : block_joined<OP>(v);
  __shared__ float parts[MOST_ALONG];
  int t = threadIdx.x, across = blockDim.x / r.group;
  __syncthreads();  // nobody still reads the parts of before
  parts[t] = v;
  for (int o = r.group / 2; o; o /= 2) {
    __syncthreads();
    if (r.lane < o) parts[t] = joined<OP>(parts[t], parts[t + o * across]);
  }
  __syncthreads();
  return parts[t % across];
}
// Of doubles, for all threads of a block of N, a power of two.
template <int N> __device__ inline double block_total(double v) {
  __shared__ double shared[N];
  __syncthreads();
  shared[threadIdx.x] = v;
  __syncthreads();
  for (int o = N / 2; o; o /= 2) {
    if (threadIdx.x < o) shared[threadIdx.x] += shared[threadIdx.x + o];
    __syncthreads();
  }
  return shared[0];
}
