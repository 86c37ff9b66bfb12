// CUDA C++ for the host's compiler: what the texts under minifp/ use, and nothing more.
//
// Threads of a block are fibers of one thread of the host (see runtime.cpp), so atomics are plain
// and __shared__ is static. What is not here does not compile: a kernel that needs it is found.
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>

#include <cmath>

#define __global__ static
#define __device__ static
#define __host__
#define __forceinline__ inline
#define __shared__ static
#define __constant__ static
#define __launch_bounds__(...)
#define __restrict__ __restrict

struct rig_uint3 { unsigned x, y, z; };
extern "C" {
extern rig_uint3 rig_thread, rig_block, rig_block_dim, rig_grid_dim;
void rig_barrier();
void rig_warp_barrier(unsigned lanes, const char *function, int line);
int rig_lane();
uint64_t *rig_warp_slots();
int *rig_block_flag();
}
#define threadIdx rig_thread
#define blockIdx rig_block
#define blockDim rig_block_dim
#define gridDim rig_grid_dim
static const int warpSize = 32;

// ---- half --------------------------------------------------------------------------------------

struct __half { uint16_t x; };
typedef __half half;
static inline float __half2float(__half h) { _Float16 f; memcpy(&f, &h, 2); return (float)f; }
static inline __half __float2half_rn(float v) {
  _Float16 f = (_Float16)v; __half h; memcpy(&h, &f, 2); return h;
}
static inline __half __double2half(double v) {
  _Float16 f = (_Float16)v; __half h; memcpy(&h, &f, 2); return h;
}
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };

// ---- functions ---------------------------------------------------------------------------------

template <class T> static inline T min(T a, T b) { return b < a ? b : a; }
template <class T> static inline T max(T a, T b) { return a < b ? b : a; }
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline float normcdff(float x) { return (float)(0.5 * erfc(-x * 0.70710678118654752440)); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((uint64_t)a * b) >> 32); }
template <class T> static inline T __ldg(const T *p) { return *p; }
static inline float __int_as_float(int v) { float f; memcpy(&f, &v, 4); return f; }
static inline int __float_as_int(float v) { int f; memcpy(&f, &v, 4); return f; }
static inline float __uint_as_float(unsigned v) { float f; memcpy(&f, &v, 4); return f; }
static inline unsigned __float_as_uint(float v) { unsigned f; memcpy(&f, &v, 4); return f; }
using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;

// ---- atomics of integers (of floating numbers there are none: their order would be seen) --------

static inline int atomicAdd(int *p, int v) { int o = *p; *p = o + v; return o; }
static inline unsigned atomicAdd(unsigned *p, unsigned v) { unsigned o = *p; *p = o + v; return o; }
static inline int atomicOr(int *p, int v) { int o = *p; *p = o | v; return o; }
static inline int atomicMax(int *p, int v) { int o = *p; *p = o < v ? v : o; return o; }
static inline int atomicMin(int *p, int v) { int o = *p; *p = v < o ? v : o; return o; }
static inline void __threadfence() {}

// ---- what the threads of a block do together ----------------------------------------------------

static inline void __syncthreads() { rig_barrier(); }
static inline void __syncwarp(unsigned = 0xffffffffu) { rig_warp_barrier(0, "", 0); }
static inline int __syncthreads_or(int p) {
  rig_barrier(); *rig_block_flag() = 0; rig_barrier();
  if (p) *rig_block_flag() = 1;
  rig_barrier(); int r = *rig_block_flag(); rig_barrier(); return r;
}
// AT is where a text calls: which a default argument knows.
#define AT const char *function = __builtin_FUNCTION(), int line = __builtin_LINE()
template <class T> static inline T rig_shuffle(unsigned lanes, T v, int source, AT) {
  static_assert(sizeof(T) <= 8, "a shuffle of more than 8 bytes");
  uint64_t *slots = rig_warp_slots();  // of this exchange: the next one has others
  memcpy(&slots[rig_lane()], &v, sizeof(T));
  rig_warp_barrier(lanes, function, line);
  T r = v;
  if (source >= 0 && source < 32) memcpy(&r, &slots[source], sizeof(T));
  return r;
}
template <class T> static inline T __shfl_sync(unsigned lanes, T v, int s, int = 32, AT) {
  return rig_shuffle(lanes, v, s & 31, function, line);
}
template <class T> static inline T __shfl_xor_sync(unsigned lanes, T v, int m, int = 32, AT) {
  return rig_shuffle(lanes, v, rig_lane() ^ m, function, line);
}
template <class T> static inline T __shfl_down_sync(unsigned lanes, T v, int d, int = 32, AT) {
  int s = rig_lane() + d; return rig_shuffle(lanes, v, s < 32 ? s : rig_lane(), function, line);
}
template <class T> static inline T __shfl_up_sync(unsigned lanes, T v, int d, int = 32, AT) {
  int s = rig_lane() - d; return rig_shuffle(lanes, v, s >= 0 ? s : rig_lane(), function, line);
}
static inline unsigned __ballot_sync(unsigned lanes, int p, AT) {
  unsigned r = 0;
  for (int i = 0; i < 32; i++)
    if (rig_shuffle(lanes, p ? 1 : 0, i, function, line)) r |= 1u << i;
  return r;
}
#undef AT

// ---- how the host calls a kernel ----------------------------------------------------------------

template <int... I> struct rig_ints {};
template <int N, int... I> struct rig_count : rig_count<N - 1, N - 1, I...> {};
template <int... I> struct rig_count<0, I...> { typedef rig_ints<I...> type; };
template <class T> struct rig_bare { typedef T type; };
template <class T> struct rig_bare<const T> { typedef T type; };
template <class... A, int... I>
static inline void rig_call(void (*k)(A...), void **a, rig_ints<I...>) {
  k(*reinterpret_cast<typename rig_bare<A>::type *>(a[I])...);
}
template <class... A> static inline void rig_apply(void (*k)(A...), void **a) {
  rig_call(k, a, typename rig_count<sizeof...(A)>::type());
}
template <class... A> static inline int rig_sizes(void (*)(A...), int *sizes) {
  int n = 0; int all[] = {0, (sizes[n++] = (int)sizeof(A))...}; (void)all; return n;
}
#define RIG_EXPORT(name, bound)                                                \
  extern "C" const int rig_bound_##name = bound;                               \
  extern "C" void rig_call_##name(void **a) { rig_apply(name, a); }            \
  extern "C" int rig_sizes_##name(int *sizes) { return rig_sizes(name, sizes); }
