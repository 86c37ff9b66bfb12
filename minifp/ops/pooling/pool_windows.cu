// What the texts of pooling begin with: what windows see, and which windows see a place.

// The windows along an axis, as in pool_windows.py; a stride of 0 is for those that cover it evenly.
struct Axis {
  size n, count, size_, stride, padding, dilation;
};
#define AXES                                                                                       \
  size H, size P, size KH, size SH, size PH, size DH, size W, size Q, size KW, size SW, size PW,   \
      size DW
#define DOWN Axis{H, P, KH, SH, PH, DH}
#define ACROSS Axis{W, Q, KW, SW, PW, DW}

// Places first + i dilation for low <= i < high: those of a window that are no padding.
struct Seen {
  int first, low, high;
};
__device__ inline Seen seen(Axis a, size p) {
  if (!a.stride) {
    size first = p * a.n / a.count;
    return {(int)first, 0, (int)(((p + 1) * a.n + a.count - 1) / a.count - first)};
  }
  int first = (int)(p * a.stride - a.padding), d = (int)a.dilation;
  int left = (int)a.n - first;  // places up to the end
  return {first, first < 0 ? (d - 1 - first) / d : 0, min((int)a.size_, (left + d - 1) / d)};
}

// Windows from first to last see a place, the ones of them which `number` says: else it is -1.
struct Seeing {
  int first, last;
};
__device__ inline Seeing seeing(Axis a, size place) {
  if (!a.stride) return {(int)(place * a.count / a.n), (int)(((place + 1) * a.count - 1) / a.n)};
  int at = (int)(place + a.padding), s = (int)a.stride;
  int before = at - (int)(a.dilation * (a.size_ - 1));
  return {before > 0 ? (before + s - 1) / s : 0, min(at / s, (int)a.count - 1)};
}
// Which of a window's places it is.
__device__ inline int number(Axis a, size p, size place) {
  if (!a.stride) return (int)(place - p * a.n / a.count);
  int from = (int)(place + a.padding - p * a.stride), i = from / (int)a.dilation;
  return i * (int)a.dilation == from ? i : -1;
}

// A sum of any number of addends, 32 at a time.
struct Sum {
  float part, total;
  int k;
};
__device__ inline void add(Sum &s, float v) {
  s.part += v;
  if (++s.k % 32 == 0) s.total += s.part, s.part = 0.0f;
}
__device__ inline float value(const Sum &s) { return s.total + s.part; }

// Each window is taken by LANES threads of a warp.
#define EACH_WINDOW(windows)                                                                       \
  size u = first_index() / LANES, lane = first_index() % LANES, step = all_threads() / LANES;      \
  u < (windows);                                                                                   \
  u += step
