// Of two arrays that broadcast, or an array and a number, what must be exact: comparisons, also of
// integers, and logic. Computed in double, or in long long where both are integers (REAL is 0): all
// that is stored is exact there. An array that is missing is `number`.
#if REAL
typedef double Z;
#else
typedef long long Z;
#endif

template <class T> __device__ inline Z value(const T *x, size i) { return (Z)x[i]; }
__device__ inline Z value(const half *x, size i) { return (Z)load(x, i); }
template <class B, int E, int M, bool HAS_INF>
__device__ inline Z value(const Code<B, E, M, HAS_INF> *x, size i) { return (Z)load(x, i); }

enum { EQ, NE, LT, LE, GT, GE, AND, OR, XOR };

__device__ inline float found(size what, Z a, Z b) {
  switch (what) {
    case EQ: return a == b;
    case NE: return a != b;
    case LT: return a < b;
    case LE: return a <= b;
    case GT: return a > b;
    case GE: return a >= b;
    case AND: return a != 0 && b != 0;
    case OR: return a != 0 || b != 0;
    default: return (a != 0) != (b != 0);
  }
}

// n1, n2, n3: the sizes of the last three of four axes; s, t: the steps of x and v along them.
extern "C" __global__ void exact(const X *x, const V *v, Z number, Y *y, size n, size what, size n1,
                                 size n2, size n3, size s0, size t0, size s1, size t1, size s2,
                                 size t2, size s3, size t3) {
  for (size i = first_index(); i < n; i += all_threads()) {
    size a = i, d = take_digit(a, n3), c = take_digit(a, n2), b = take_digit(a, n1);
    Z left = x ? value(x, a * s0 + b * s1 + c * s2 + d * s3) : number;
    Z right = v ? value(v, a * t0 + b * t1 + c * t2 + d * t3) : number;
    store(y, i, found(what, left, right));
  }
}
