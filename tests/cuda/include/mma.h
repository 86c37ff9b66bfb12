// In place of CUDA's own: the fragments of tensor cores, 16 x 16 x 16, as far as texts use them.
//
// As on a GPU, a fragment is spread over the 32 threads of a warp: thread t has elements 8 t to
// 8 t + 7, in row-major order. mma_sync lets all threads of a warp see both factors. Loads and
// stores do not wait for other threads, so that a text which forgets to wait is found. Sums are
// those of minifp.runtime.cuda.teaching.emulated: four products at a time, then one rounding.
#pragma once
#include "../shim.h"

namespace nvcuda {
namespace wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
enum layout_t { mem_row_major };

enum { RIG_SIDE = 16, RIG_TILE = RIG_SIDE * RIG_SIDE, RIG_WARP = 32, RIG_HELD = RIG_TILE / RIG_WARP };

template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment {
  static_assert(M == RIG_SIDE && N == RIG_SIDE && K == RIG_SIDE, "a tile of 16 x 16 x 16");
  enum { num_elements = RIG_HELD };
  T x[num_elements];
};

static inline double rig_wide(float v) { return v; }
static inline double rig_wide(half v) { return __half2float(v); }
static inline void rig_round(double v, half &y) { y = __double2half(v); }
static inline void rig_round(double v, float &y) {  // toward zero
  y = (float)v;
  if (fabs((double)y) > fabs(v)) y = nextafterf(y, 0.0f);
}

template <class F> static inline void fill_fragment(F &f, float v) {
  for (int i = 0; i < RIG_HELD; i++) rig_round(v, f.x[i]);
}
template <class F, class T> static inline void load_matrix_sync(F &f, const T *p, unsigned width) {
  for (int i = 0; i < RIG_HELD; i++) {
    int e = rig_lane() * RIG_HELD + i;
    f.x[i] = p[e / RIG_SIDE * width + e % RIG_SIDE];
  }
}
template <class F, class T>
static inline void store_matrix_sync(T *p, const F &f, unsigned width, layout_t) {
  for (int i = 0; i < RIG_HELD; i++) {
    int e = rig_lane() * RIG_HELD + i;
    p[e / RIG_SIDE * width + e % RIG_SIDE] = f.x[i];
  }
}
template <class D, class A, class B, class C>
static inline void mma_sync(D &d, const A &a, const B &b, const C &c) {
  static double seen[32][2][RIG_TILE];  // of each warp of a block: a and b
  int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  auto &mine = seen[thread / RIG_WARP];
  for (int i = 0; i < RIG_HELD; i++) {
    mine[0][rig_lane() * RIG_HELD + i] = rig_wide(a.x[i]);
    mine[1][rig_lane() * RIG_HELD + i] = rig_wide(b.x[i]);
  }
  __syncwarp();
  for (int i = 0; i < RIG_HELD; i++) {
    int e = rig_lane() * RIG_HELD + i, row = e / RIG_SIDE, column = e % RIG_SIDE;
    auto sum = c.x[i];
    for (int k = 0; k < RIG_SIDE; k += 4) {
      double exact = rig_wide(sum);
      for (int j = k; j < k + 4; j++)
        exact += mine[0][row * RIG_SIDE + j] * mine[1][j * RIG_SIDE + column];
      rig_round(exact, sum);
    }
    d.x[i] = sum;
  }
  __syncwarp();
}

}  // namespace wmma
}  // namespace nvcuda
