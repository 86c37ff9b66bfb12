// The entry points of cublasLt that minifp uses, on the CPU, for products of float8: same ABI, same
// sizes of attributes, and the conditions of the reference ("cublasLtMatmul", of 8-bit data types).
// Work goes through rig::enqueue; alpha and beta are read at the call, scales when the work is done.
//
// Sums are in float32, k ascending; with fast accumulation, or after fake_lt_bits, cut to fewer bits
// after every addition. Partial sums are in D's format where the preference allows such schemes.
#include "runtime.h"

#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>

typedef int64_t i64;

namespace {

enum { R_32F = 0, R_16F = 2, R_16BF = 14, R_E4M3 = 28, R_E5M2 = 29, C_32F = 68 };
enum { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, NOT_SUPPORTED = 15 };
enum { COMPUTE_TYPE = 0, SCALE_TYPE = 1, TRANSA = 3, TRANSB = 4, A_SCALE = 17, B_SCALE = 18, FAST = 25 };
enum { WORKSPACE = 1, SCHEMES = 3, ALIGN_A = 5, ALIGN_D = 8 };
const uint32_t OUTPUT_TYPE_SCHEMES = 1 | 4;  // that store partial sums in D's format
const uint64_t CHOSEN = 0x6d696e696670, NEEDED = 1024;  // mark of an algorithm, its workspace

struct Attributes {  // of a descriptor: (bytes, value)
  std::map<int, std::pair<size_t, i64>> held;
  int set(int which, const void *value, size_t bytes) {
    auto found = held.find(which);
    if (!value || found == held.end() || found->second.first != bytes) return INVALID_VALUE;
    found->second.second = 0;
    memcpy(&found->second.second, value, bytes);
    return SUCCESS;
  }
  i64 operator[](int which) const { return held.at(which).second; }
};
struct Layout { int type; i64 rows, columns, ld; };
struct Algorithm { uint64_t mark, type, rest[6]; };
struct Result { Algorithm algorithm; size_t workspace; int state; float waves; int reserved[4]; };
static_assert(sizeof(Algorithm) == 64 && sizeof(Result) == 96, "as in cublasLt.h");

// What tests ask about the last product, and about all; 64 bits each.
struct Call { i64 m, n, k, a, b, d, fast, schemes, workspace, aligned, stream, calls, asked, alive; } last;
i64 bits, refused_k;  // of sums, 0: all; and the k for which there is no algorithm
std::set<void *> handles;

float number(const void *p, int type, i64 i) {
  if (type == R_32F) return ((const float *)p)[i];
  if (type == R_16F) return (float)((const _Float16 *)p)[i];
  if (type == R_16BF) {
    uint32_t u = (uint32_t)((const uint16_t *)p)[i] << 16;
    float x;
    memcpy(&x, &u, 4);
    return x;
  }
  const int M = type == R_E4M3 ? 3 : 2, bias = type == R_E4M3 ? 7 : 15;
  const int code = ((const uint8_t *)p)[i], e = (code & 127) >> M, m = code & ((1 << M) - 1);
  float x = e ? ldexpf((float)((1 << M) + m), e - bias - M) : ldexpf((float)m, 1 - bias - M);
  if (type == R_E4M3 ? (code & 127) == 127 : e == 31) x = type == R_E5M2 && !m ? INFINITY : NAN;
  return code & 128 ? -x : x;
}

void store(void *p, int type, i64 i, float x) {
  if (type == R_32F) { ((float *)p)[i] = x; return; }
  if (type == R_16F) { ((_Float16 *)p)[i] = (_Float16)x; return; }
  uint32_t u;
  memcpy(&u, &x, 4);
  u = x == x ? u + 0x7fff + (u >> 16 & 1) : 0x7fc00000u;
  ((uint16_t *)p)[i] = (uint16_t)(u >> 16);
}

float cut(float x, int kept) {  // to so many bits of significand
  int e;
  float m = frexpf(x, &e);
  return x == 0 || !std::isfinite(x) ? x : ldexpf(truncf(ldexpf(m, kept)), e - kept);
}

struct Product {
  Layout a, b, d;
  const void *at, *bt;
  void *to;
  const float *scale_a, *scale_b;
  float alpha, beta;
  int kept;
  bool narrow;
  void run() const {
    const float scale = (scale_a ? *scale_a : 1) * (scale_b ? *scale_b : 1);
    for (i64 j = 0; j < d.columns; j++)
      for (i64 i = 0; i < d.rows; i++) {
        float s = 0;
        for (i64 l = 0; l < a.rows; l++) {
          s += number(at, a.type, i * a.ld + l) * number(bt, b.type, j * b.ld + l);
          if (kept) s = cut(s, kept);
          if (narrow) s = cut(s, d.type == R_16F ? 11 : d.type == R_16BF ? 8 : 24);
        }
        float r = alpha * scale * s;
        if (beta != 0) r += beta * number(to, d.type, j * d.ld + i);
        store(to, d.type, j * d.ld + i, r);
      }
  }
};

i64 bytes_of(int type) { return type == R_32F ? 4 : type == R_16F || type == R_16BF ? 2 : 1; }
bool is_result(int type) { return type == R_32F || type == R_16F || type == R_16BF; }
bool is_aligned(const Layout &x) { return x.ld * bytes_of(x.type) % 16 == 0; }

bool supported(const Attributes &o, const Layout &a, const Layout &b, const Layout &c, const Layout &d) {
  bool formats = (a.type == R_E4M3 && (b.type == R_E4M3 || b.type == R_E5M2)) ||
                 (a.type == R_E5M2 && b.type == R_E4M3);
  bool sizes = a.rows == b.rows && a.columns == d.rows && b.columns == d.columns && a.rows % 16 == 0;
  return formats && sizes && is_result(d.type) && c.type == d.type && o[TRANSA] == 1 &&
         o[TRANSB] == 0 && o[COMPUTE_TYPE] == C_32F && o[SCALE_TYPE] == R_32F && is_aligned(a) &&
         is_aligned(b) && is_aligned(d) && a.rows != refused_k;
}

}  // namespace

extern "C" {

int cublasLtCreate(void **handle) {
  *handle = new int(0);
  handles.insert(*handle);
  return SUCCESS;
}

#define MADE(KIND, TYPE)                                                                           \
  int cublasLt##KIND##Destroy(void *made) { delete (TYPE *)made; last.alive--; return SUCCESS; }
MADE(MatmulDesc, Attributes)
MADE(MatmulPreference, Attributes)
MADE(MatrixLayout, Layout)

int cublasLtMatmulDescCreate(void **made, int compute, int scale) {
  *made = new Attributes{{{COMPUTE_TYPE, {4, compute}}, {SCALE_TYPE, {4, scale}}, {TRANSA, {4, 0}},
                          {TRANSB, {4, 0}}, {A_SCALE, {8, 0}}, {B_SCALE, {8, 0}}, {FAST, {1, 0}}}};
  last.alive++;
  return SUCCESS;
}
int cublasLtMatmulPreferenceCreate(void **made) {
  auto *p = new Attributes{{{WORKSPACE, {8, 0}}, {SCHEMES, {4, 7}}}};
  for (int which = ALIGN_A; which <= ALIGN_D; which++) p->held[which] = {4, 256};
  *made = p;
  last.alive++;
  return SUCCESS;
}
int cublasLtMatrixLayoutCreate(void **made, int type, uint64_t rows, uint64_t columns, i64 ld) {
  if (ld < (i64)rows) return INVALID_VALUE;
  *made = new Layout{type, (i64)rows, (i64)columns, ld};
  last.alive++;
  return SUCCESS;
}
int cublasLtMatmulDescSetAttribute(void *o, int which, const void *value, size_t bytes) {
  return ((Attributes *)o)->set(which, value, bytes);
}
int cublasLtMatmulPreferenceSetAttribute(void *p, int which, const void *value, size_t bytes) {
  return ((Attributes *)p)->set(which, value, bytes);
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *operation, void *a, void *b, void *c, void *d,
                                   void *preference, int wanted, Result *results, int *count) {
  if (!handles.count(handle)) return NOT_INITIALIZED;
  if (wanted < 1) return INVALID_VALUE;
  const Attributes &o = *(Attributes *)operation, &p = *(Attributes *)preference;
  const Layout &D = *(Layout *)d;
  last.asked++;
  *count = 0;
  if (!supported(o, *(Layout *)a, *(Layout *)b, *(Layout *)c, D) || p[ALIGN_D] < 16 ||
      p[WORKSPACE] < (i64)NEEDED)
    return NOT_SUPPORTED;
  *results = {{CHOSEN, (uint64_t)D.type, {(uint64_t)p[SCHEMES], (uint64_t)p[ALIGN_D]}}, NEEDED, SUCCESS};
  *count = 1;
  return SUCCESS;
}

int cublasLtMatmul(void *handle, void *operation, const float *alpha, const void *at, void *a,
                   const void *bt, void *b, const float *beta, const void *from, void *c, void *to,
                   void *d, const Algorithm *algorithm, void *workspace, size_t bytes, void *stream) {
  if (!handles.count(handle)) return NOT_INITIALIZED;
  const Attributes &o = *(Attributes *)operation;
  const Layout A = *(Layout *)a, B = *(Layout *)b, C = *(Layout *)c, D = *(Layout *)d;
  const i64 schemes = algorithm->rest[0], aligned = algorithm->rest[1];
  if (algorithm->mark != CHOSEN || algorithm->type != (uint64_t)D.type || bytes < NEEDED ||
      (uintptr_t)workspace % 256 || (uintptr_t)at % 256 || (uintptr_t)bt % 256 ||
      (uintptr_t)to % aligned || from != to)
    return INVALID_VALUE;
  if (!supported(o, A, B, C, D)) return NOT_SUPPORTED;
  last = {D.rows, D.columns, A.rows, A.type, B.type, D.type, o[FAST], schemes, (i64)workspace,
          aligned, (i64)stream, last.calls + 1, last.asked, last.alive};
  const int kept = o[FAST] ? 14 : (int)bits;
  Product p{A, B, D, at, bt, to, (const float *)o[A_SCALE], (const float *)o[B_SCALE], *alpha, *beta,
            kept, (schemes & OUTPUT_TYPE_SCHEMES) != 0};
  rig::enqueue(stream, [=]() { p.run(); });
  return SUCCESS;
}

// ---- for tests ----------------------------------------------------------------------------------

void fake_lt_last(Call *call) { *call = last; }
void fake_lt_bits(i64 kept) { bits = kept; }
void fake_lt_refuse(i64 k) { refused_k = k; }

}  // extern "C"
