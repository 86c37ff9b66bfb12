// What CuPy's own kernels use of CUDA beyond what minifp's texts do: half as a class, more atomics.
#pragma once
#include "../shim.h"

#include <cassert>
#include <cstddef>

#undef __device__  // of methods, which cannot be static
#define __device__
#define __CUDACC_VER_MAJOR__ 13
#define __align__(n) alignas(n)
#define __noinline__ __attribute__((noinline))

struct __half_raw { unsigned short x; };
struct standin_half {
  _Float16 value;
  standin_half() = default;
  template <class T> standin_half(T v) : value((_Float16)v) {}
  explicit standin_half(const __half_raw &raw) { memcpy(&value, &raw, 2); }
  operator float() const { return (float)value; }
  operator __half_raw() const { __half_raw raw; memcpy(&raw, &value, 2); return raw; }
};
static inline unsigned short __half_as_ushort(standin_half h) { return __half_raw(h).x; }
static inline standin_half __ushort_as_half(unsigned short bits) {
  return standin_half(__half_raw{bits});
}

static inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline long long __double_as_longlong(double v) { long long b; memcpy(&b, &v, 8); return b; }
static inline double __longlong_as_double(long long b) { double v; memcpy(&v, &b, 8); return v; }
template <class T> static inline T standin_exchange(T *p, T v) { T old = *p; *p = v; return old; }
template <class T> static inline T atomicExch(T *p, T v) { return standin_exchange(p, v); }
template <class T> static inline T atomicCAS(T *p, T expected, T v) {
  return standin_exchange(p, *p == expected ? v : *p);
}
static inline float atomicAdd(float *p, float v) { return standin_exchange(p, *p + v); }
static inline double atomicAdd(double *p, double v) { return standin_exchange(p, *p + v); }
static inline unsigned long long atomicAdd(unsigned long long *p, unsigned long long v) {
  return standin_exchange(p, *p + v);
}

#define half standin_half
#include <cupy/carray.cuh>
#include <cupy/atomics.cuh>
#include <cupy/complex.cuh>
#include <cupy/float16.cuh>
#include <cupy/math_constants.h>
