// The entry points of cuBLAS that minifp uses, on the CPU: same ABI, same column-major layout, same
// checks of arguments, alpha and beta on the host. Work goes through rig::enqueue, so a stream that
// captures keeps it for later; alpha and beta are read at the call, as cuBLAS reads them.
//
// Sums are as exact as the compute type says: 32F in float32, k ascending in blocks whose sums are
// added; FAST_TF32 the same of operands rounded to 10 mantissa bits; 16F rounds every product and
// every partial sum to half; 64F in double. Results are rounded once, to nearest even.
#include "runtime.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <set>
#include <vector>

typedef int64_t i64;

// The clones differ in the width of vectors only, never in the order of additions or in fusing.
#if defined(__x86_64__) && defined(__linux__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define FAST __attribute__((target_clones("avx2", "default"), optimize("O3", "no-trapping-math")))
#else
#define FAST
#endif
#define INLINE inline __attribute__((always_inline))

namespace {

enum { R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14 };
enum { C_16F = 64, C_16F_PEDANTIC, C_32F = 68, C_32F_PEDANTIC = 69, C_64F = 70, C_32F_FAST_TF32 = 77 };
enum { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, NOT_SUPPORTED = 15 };

// ---- formats -----------------------------------------------------------------------------------

INLINE uint32_t bits_of(float x) { uint32_t u; memcpy(&u, &x, 4); return u; }
INLINE float float_of(uint32_t u) { float x; memcpy(&x, &u, 4); return x; }

// A float32 rounded to the numbers of float16, still as a float32.
INLINE float to_half(float x) {
  uint32_t u = bits_of(x), sign = u & 0x80000000u, v = u & 0x7fffffffu;
  uint32_t normal = (v + 0xfffu + ((v >> 13) & 1u)) & ~0x1fffu;
  normal = normal >= 0x47800000u ? 0x7f800000u : normal;               // 2^16 and more: Inf
  float small = (float_of(v) + 0.5f) - 0.5f;                           // multiples of 2^-24
  uint32_t r = v < 0x38800000u ? bits_of(small) : normal;
  r = v > 0x7f800000u ? v : r;                                         // NaN
  return float_of(r | sign);
}

// The bits of a number that float16 holds.
INLINE uint16_t half_bits(float x) {
  uint32_t u = bits_of(x), sign = (u >> 16) & 0x8000u, v = u & 0x7fffffffu;
  if (v > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (v == 0x7f800000u) return (uint16_t)(sign | 0x7c00u);
  if (v < 0x38800000u) return (uint16_t)(sign | (uint32_t)(float_of(v) * 16777216.0f));
  return (uint16_t)(sign | ((v - 0x38000000u) >> 13));
}

const std::vector<float> &halves() {
  static const std::vector<float> table = [] {
    std::vector<float> t(65536);
    for (uint32_t h = 0; h < 65536; h++) {
      uint32_t e = h >> 10 & 31, m = h & 1023;
      float x = e == 31  ? (m ? NAN : INFINITY)
                : e == 0 ? ldexpf((float)m, -24)
                         : ldexpf((float)(m + 1024), (int)e - 25);
      t[h] = h & 0x8000 ? -x : x;
    }
    return t;
  }();
  return table;
}

INLINE float to_mantissa(float x, int dropped) {  // so many bits of a float32's mantissa
  uint32_t u = bits_of(x);
  if ((u & 0x7f800000u) == 0x7f800000u) return x;
  uint32_t ulp = 1u << dropped;
  return float_of((u + (ulp >> 1) - 1 + ((u >> dropped) & 1u)) & ~(ulp - 1));
}

struct Half {
  const uint16_t *p; const float *table;
  explicit Half(const void *q) : p((const uint16_t *)q), table(halves().data()) {}
  float operator[](i64 i) const { return table[p[i]]; }
};
struct Brain {
  const uint16_t *p;
  explicit Brain(const void *q) : p((const uint16_t *)q) {}
  float operator[](i64 i) const { return float_of((uint32_t)p[i] << 16); }
};
struct Single {
  const float *p;
  explicit Single(const void *q) : p((const float *)q) {}
  float operator[](i64 i) const { return p[i]; }
};
struct Rounded {  // as TF32
  const float *p;
  explicit Rounded(const void *q) : p((const float *)q) {}
  float operator[](i64 i) const { return to_mantissa(p[i], 13); }
};
struct Double {
  const double *p;
  explicit Double(const void *q) : p((const double *)q) {}
  double operator[](i64 i) const { return p[i]; }
};

i64 bytes_of(int type) { return type == R_64F ? 8 : type == R_32F ? 4 : 2; }

template <class T> T number(const void *p, int type, i64 i) {
  switch (type) {
    case R_64F: return (T)((const double *)p)[i];
    case R_32F: return (T)((const float *)p)[i];
    case R_16F: return (T)Half(p)[i];
    default: return (T)Brain(p)[i];
  }
}

template <class T> void store(void *p, int type, i64 i, T x) {
  switch (type) {
    case R_64F: ((double *)p)[i] = (double)x; return;
    case R_32F: ((float *)p)[i] = (float)x; return;
    case R_16F: ((uint16_t *)p)[i] = half_bits(to_half((float)x)); return;
    default: {
      float y = (float)x;
      uint32_t u = bits_of(y == y ? to_mantissa(y, 16) : NAN);
      ((uint16_t *)p)[i] = (uint16_t)(u >> 16);
    }
  }
}

// ---- one product -------------------------------------------------------------------------------

struct Problem {
  int ta, tb, at, bt, ct, compute;
  i64 m, n, k, lda, ldb, ldc;
  const void *a, *b; void *c;
  double alpha, beta;  // exact: they come in the compute type
};

enum { BLOCK = 256, HIGH = 4 };
template <class T> struct Vector;
template <> struct Vector<float> {
  typedef float type __attribute__((vector_size(32), may_alias));
};
template <> struct Vector<double> {
  typedef double type __attribute__((vector_size(32), may_alias));
};
template <class T> constexpr i64 lanes() { return 32 / (i64)sizeof(T); }

// sums[j, i] += sum_l a[panel of i, l, i] b[group of j, l, j], for all panels and groups.
template <class T>
INLINE void tiles(const T *a, const T *b, T *sums, i64 m, i64 n, i64 k) {
  typedef typename Vector<T>::type V;
  const i64 wide = 2 * lanes<T>();
  for (i64 i = 0; i < m; i += wide)
    for (i64 j = 0; j < n; j += HIGH) {
      const V *x = (const V *)(a + i * k);
      const T *y = b + j * k;
      V s[HIGH][2] = {};
      for (i64 l = 0; l < k; l++)
        for (int r = 0; r < HIGH; r++) {
          s[r][0] += x[2 * l] * y[l * HIGH + r];
          s[r][1] += x[2 * l + 1] * y[l * HIGH + r];
        }
      for (int r = 0; r < HIGH; r++) {
        V *to = (V *)(sums + (j + r) * m + i);
        to[0] += s[r][0];
        to[1] += s[r][1];
      }
    }
}
FAST void add_product(const float *a, const float *b, float *sums, i64 m, i64 n, i64 k) {
  tiles<float>(a, b, sums, m, n, k);
}
FAST void add_product(const double *a, const double *b, double *sums, i64 m, i64 n, i64 k) {
  tiles<double>(a, b, sums, m, n, k);
}

// Panels of `wide` rows: to[panel, l, row] = op(x)[row, l0 + l], of which `along` says whether l or
// the row is contiguous. Rows beyond `rows` stay 0.
template <class T, class R>
void pack(R x, i64 ld, bool along, i64 rows, i64 l0, i64 k, i64 wide, T *to) {
  for (i64 i0 = 0; i0 < rows; i0 += wide) {
    T *panel = to + i0 * k;
    i64 some = std::min(wide, rows - i0);
    if (along)
      for (i64 i = 0; i < some; i++)
        for (i64 l = 0; l < k; l++) panel[l * wide + i] = (T)x[(i0 + i) * ld + l0 + l];
    else
      for (i64 l = 0; l < k; l++)
        for (i64 i = 0; i < some; i++) panel[l * wide + i] = (T)x[(l0 + l) * ld + i0 + i];
  }
}

template <class T>
void pack(const void *x, int type, bool rounded, i64 ld, bool along, i64 rows, i64 l0, i64 k,
          i64 wide, T *to) {
  if (type == R_64F) pack(Double(x), ld, along, rows, l0, k, wide, to);
  else if (type == R_16F) pack(Half(x), ld, along, rows, l0, k, wide, to);
  else if (type == R_16BF) pack(Brain(x), ld, along, rows, l0, k, wide, to);
  else if (rounded) pack(Rounded(x), ld, along, rows, l0, k, wide, to);
  else pack(Single(x), ld, along, rows, l0, k, wide, to);
}

template <class T> struct Buffer {  // of zeros, at a multiple of 64 bytes
  std::vector<T> held;
  T *first;
  explicit Buffer(i64 count) : held((size_t)count + 64 / sizeof(T)) {
    first = (T *)(((uintptr_t)held.data() + 63) & ~(uintptr_t)63);
  }
  T *data() { return first; }
};

i64 up(i64 n, i64 unit) { return (n + unit - 1) / unit * unit; }

template <class T> void plain(const Problem &p) {
  const i64 wide = 2 * lanes<T>(), m = up(p.m, wide), n = up(p.n, HIGH);
  const bool rounded = p.compute == C_32F_FAST_TF32;
  Buffer<T> sums(m * n);
  for (i64 l0 = 0; l0 < p.k && p.alpha != 0; l0 += BLOCK) {
    i64 k = std::min((i64)BLOCK, p.k - l0);
    Buffer<T> a(m * k), b(n * k);
    pack(p.a, p.at, rounded, p.lda, p.ta, p.m, l0, k, wide, a.data());
    pack(p.b, p.bt, rounded, p.ldb, !p.tb, p.n, l0, k, HIGH, b.data());
    add_product(a.data(), b.data(), sums.data(), m, n, k);
  }
  const T alpha = (T)p.alpha, beta = (T)p.beta;
  for (i64 j = 0; j < p.n; j++)
    for (i64 i = 0; i < p.m; i++) {
      T r = alpha * sums.data()[j * m + i];
      if (beta != 0) r += beta * number<T>(p.c, p.ct, j * p.ldc + i);
      store(p.c, p.ct, j * p.ldc + i, r);
    }
}

FAST void add_in_half(float *sums, const float *a, float b, i64 m) {
  for (i64 i = 0; i < m; i++) sums[i] = to_half(sums[i] + to_half(a[i] * b));
}

void in_half(const Problem &p) {
  Buffer<float> a(p.m * p.k), b(p.n * p.k), sums(p.m);
  pack(p.a, p.at, false, p.lda, p.ta, p.m, 0, p.k, p.m, a.data());
  pack(p.b, p.bt, false, p.ldb, !p.tb, p.n, 0, p.k, p.n, b.data());
  const float alpha = (float)p.alpha, beta = (float)p.beta;
  for (i64 j = 0; j < p.n; j++) {
    std::fill(sums.data(), sums.data() + p.m, 0.0f);
    for (i64 l = 0; l < p.k && alpha != 0; l++)
      add_in_half(sums.data(), a.data() + l * p.m, b.data()[l * p.n + j], p.m);
    for (i64 i = 0; i < p.m; i++) {
      float r = to_half(alpha * sums.data()[i]);
      if (beta != 0)
        r = to_half(r + to_half(beta * number<float>(p.c, p.ct, j * p.ldc + i)));
      store(p.c, p.ct, j * p.ldc + i, r);
    }
  }
}

void run(const Problem &p) {
  if (p.m == 0 || p.n == 0) return;
  if (p.compute == C_16F || p.compute == C_16F_PEDANTIC) in_half(p);
  else if (p.compute == C_64F) plain<double>(p);
  else plain<float>(p);
}

// ---- handles and calls -------------------------------------------------------------------------

struct Handle {
  void *stream = nullptr, *workspace = nullptr;
  size_t workspace_bytes = 0;
  int math_mode = 0;
};

// What tests ask about the last call; all fields are 64 bits wide.
struct Call {
  i64 m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c, batch;
  i64 ta, tb, at, bt, ct, compute, algo, math_mode, workspace, workspace_bytes, stream;
  i64 wide, batched, calls;
} last;

std::set<Handle *> handles;
std::mutex lock;

Handle *known(void *handle) {
  std::lock_guard<std::mutex> held(lock);
  return handles.count((Handle *)handle) ? (Handle *)handle : nullptr;
}

bool supported(int at, int bt, int ct, int compute) {
  if (at != bt) return false;
  switch (compute) {
    case C_16F:
    case C_16F_PEDANTIC: return at == R_16F && ct == R_16F;
    case C_64F: return at == R_64F && ct == R_64F;
    case C_32F_FAST_TF32: return at == R_32F && ct == R_32F;
    case C_32F:
    case C_32F_PEDANTIC:
      return (at == R_16F || at == R_16BF) ? ct == at || ct == R_32F : at == R_32F && ct == R_32F;
    default: return false;
  }
}

double scalar(const void *p, int compute) {
  if (compute == C_64F) return *(const double *)p;
  const bool half = compute == C_16F || compute == C_16F_PEDANTIC;
  return half ? Half(p)[0] : *(const float *)p;
}

int gemm(void *h, int ta, int tb, i64 m, i64 n, i64 k, const void *alpha, const void *a, int at,
         i64 lda, i64 sa, const void *b, int bt, i64 ldb, i64 sb, const void *beta, void *c, int ct,
         i64 ldc, i64 sc, i64 batch, int compute, int algo, int wide, int batched) {
  Handle *handle = known(h);
  if (!handle) return NOT_INITIALIZED;
  const i64 one = 1;
  if (ta < 0 || ta > 2 || tb < 0 || tb > 2 || m < 0 || n < 0 || k < 0 || batch < 0 || !alpha ||
      !beta || lda < std::max(one, ta ? k : m) || ldb < std::max(one, tb ? n : k) ||
      ldc < std::max(one, m))
    return INVALID_VALUE;
  if (!supported(at, bt, ct, compute)) return NOT_SUPPORTED;
  Problem p{ta, tb, at, bt, ct, compute, m, n, k, lda, ldb, ldc, a, b, c,
            scalar(alpha, compute), scalar(beta, compute)};
  bool work = m && n && batch;
  if (work && (!c || (k && p.alpha != 0 && (!a || !b)))) return INVALID_VALUE;
  last = {m, n, k, lda, ldb, ldc, sa, sb, sc, batch, ta, tb, at, bt, ct, compute, algo,
          handle->math_mode, (i64)handle->workspace, (i64)handle->workspace_bytes,
          (i64)handle->stream, wide, batched, last.calls + 1};
  if (!work) return SUCCESS;
  rig::enqueue(handle->stream, [=]() {
    for (i64 i = 0; i < batch; i++) {
      Problem q = p;
      q.a = (const char *)a + i * sa * bytes_of(at);
      q.b = (const char *)b + i * sb * bytes_of(bt);
      q.c = (char *)c + i * sc * bytes_of(ct);
      run(q);
    }
  });
  return SUCCESS;
}

}  // namespace

extern "C" {

int cublasCreate_v2(void **handle) {
  if (rig_any_capturing()) return NOT_INITIALIZED;  // it would allocate
  Handle *made = new Handle;
  std::lock_guard<std::mutex> held(lock);
  handles.insert(made);
  *handle = made;
  return SUCCESS;
}
int cublasDestroy_v2(void *handle) {
  if (!known(handle)) return NOT_INITIALIZED;
  std::lock_guard<std::mutex> held(lock);
  handles.erase((Handle *)handle);
  delete (Handle *)handle;
  return SUCCESS;
}
int cublasGetVersion_v2(void *, int *version) { *version = 120000; return SUCCESS; }
int cublasSetStream_v2(void *handle, void *stream) {
  Handle *h = known(handle);
  if (!h) return NOT_INITIALIZED;
  h->stream = stream;
  h->workspace = nullptr;  // back to the library's own, as the reference says
  h->workspace_bytes = 0;
  return SUCCESS;
}
int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes) {
  Handle *h = known(handle);
  if (!h) return NOT_INITIALIZED;
  if ((uintptr_t)workspace % 256) return INVALID_VALUE;
  h->workspace = workspace;
  h->workspace_bytes = bytes;
  return SUCCESS;
}
int cublasSetMathMode(void *handle, int mode) {
  Handle *h = known(handle);
  if (!h) return NOT_INITIALIZED;
  if (mode < 0 || mode > 31) return INVALID_VALUE;
  h->math_mode = mode;
  return SUCCESS;
}

#define GEMM(NAME, INT, WIDE)                                                                      \
  int cublasGemmEx##NAME(void *h, int ta, int tb, INT m, INT n, INT k, const void *alpha,          \
                         const void *a, int at, INT lda, const void *b, int bt, INT ldb,           \
                         const void *beta, void *c, int ct, INT ldc, int compute, int algo) {      \
    return gemm(h, ta, tb, m, n, k, alpha, a, at, lda, 0, b, bt, ldb, 0, beta, c, ct, ldc, 0, 1,   \
                compute, algo, WIDE, 0);                                                           \
  }                                                                                                \
  int cublasGemmStridedBatchedEx##NAME(                                                            \
      void *h, int ta, int tb, INT m, INT n, INT k, const void *alpha, const void *a, int at,      \
      INT lda, long long sa, const void *b, int bt, INT ldb, long long sb, const void *beta,       \
      void *c, int ct, INT ldc, long long sc, INT batch, int compute, int algo) {                  \
    return gemm(h, ta, tb, m, n, k, alpha, a, at, lda, sa, b, bt, ldb, sb, beta, c, ct, ldc, sc,   \
                batch, compute, algo, WIDE, 1);                                                    \
  }
GEMM(, int, 0)
GEMM(_64, i64, 1)

void fake_last_call(Call *to) { *to = last; }
int fake_handles() {
  std::lock_guard<std::mutex> held(lock);
  return (int)handles.size();
}

}  // extern "C"
