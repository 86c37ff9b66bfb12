// Convolutions: what is around a product of matrices, and depthwise ones directly.
//
// x (N, C, H, W), y (N, O, P, Q): window (p, q) sees, at its place (i, j), (p SH - PH + i DH,
// q SW - PW + j DW) of x, which is zero outside. X, V, Y are what is read first, weights, and what
// is written.

enum { PACK = 8 };
#define WINDOWS                                                                                    \
  size H, size W, size KH, size KW, size P, size Q, size SH, size SW, size PH, size PW, size DH,   \
      size DW

template <class A, class B> __device__ inline void copy(A *y, int k, const B *x, size i) {
  store(y, k, load(x, i));
}
template <class T> __device__ inline void copy(T *y, int k, const T *x, size i) { y[k] = x[i]; }

__device__ inline bool is_in(int place, size n) { return (unsigned)place < (unsigned)n; }

// The window whose first place is this one, counted from the padding on; -1 if there is none.
__device__ inline int window_at(int place, size stride, size count) {
  int at = place / (int)stride;
  return place >= 0 && at * (int)stride == place && at < count ? at : -1;
}

// columns (batch, C KH KW, pitch): in a row, for each of `each` pictures of N = batch * each, what
// its windows see at one place. A thread does PACK windows of a channel.
extern "C" __global__ void unfold(const X *x, Y *columns, size batch, size each, size C, size pitch,
                                  WINDOWS) {
  size packs = pitch / PACK;
  for (size u = first_index(); u < batch * C * packs; u += all_threads()) {
    size b = u, first = take_digit(b, packs) * PACK, c = take_digit(b, C);
    size n = first, q = take_digit(n, Q), p = take_digit(n, P);
    int top[PACK], left[PACK];
    size at[PACK];
#pragma unroll
    for (int k = 0; k < PACK; k++) {
      top[k] = n < each ? (int)(p * SH - PH) : (int)H;  // below everything
      left[k] = (int)(q * SW - PW);
      at[k] = ((b * each + n) * C + c) * H * W + top[k] * W + left[k];
      if (++q == Q) {
        q = 0;
        if (++p == P) p = 0, n++;
      }
    }
    Y *row = columns + (b * C + c) * KH * KW * pitch + first;
    for (int i = 0; i < KH; i++)
      for (int j = 0; j < KW; j++, row += pitch) {
        int down = i * (int)DH, across = j * (int)DW;
        Pack<Y, PACK> r;
#pragma unroll
        for (int k = 0; k < PACK; k++)
          if (is_in(top[k] + down, H) && is_in(left[k] + across, W))
            copy(r.v, k, x, at[k] + down * W + across);
          else
            store(r.v, k, 0.0f);
        store_pack<Y, PACK>(row, 0, r);
      }
  }
}

// y (I, J, count) = x (J, I, count) + bias (J), which may be missing. packed: PACK at once.
extern "C" __global__ void exchange(const X *x, const float *bias, Y *y, size I, size J, size count,
                                    size packed) {
  for (size u = first_index() * PACK; u < I * J * count; u += all_threads() * PACK) {
    size i = u, q = take_digit(i, count), j = take_digit(i, J);
    Pack<Y, PACK> r;
#pragma unroll
    for (int k = 0; k < PACK; k++) {
      if (q == count) {
        q = 0;
        if (++j == J) j = 0, i++;
      }
      if (i == I) break;
      store(r.v, k, load(x, (j * I + i) * count + q++) + (bias ? bias[j] : -0.0f));
      if (!packed) y[u + k] = r.v[k];
    }
    if (packed) store_pack<Y, PACK>(y, u, r);
  }
}

// x (planes, H, W) = the sums of what columns (planes, KH, KW, P, Q) hold of each place, and bias.
extern "C" __global__ void fold(const float *columns, const float *bias, Y *x, size planes, size C,
                                WINDOWS) {
  for (size u = first_index(); u < planes * H * W; u += all_threads()) {
    size a = u, w = take_digit(a, W), h = take_digit(a, H);
    float total = 0.0f;
    for (int i = 0; i < KH; i++) {
      int p = window_at((int)(h + PH - i * DH), SH, P);
      if (p < 0) continue;
      float sum = 0.0f;
      for (int j = 0; j < KW; j++) {
        int q = window_at((int)(w + PW - j * DW), SW, Q);
        if (q >= 0) sum += columns[(((a * KH + i) * KW + j) * P + p) * Q + q];
        if (j % 32 == 31) total += sum, sum = 0.0f;
      }
      total += sum;
    }
    store(x, u, bias ? total + bias[a % C] : total);
  }
}

// ---- one channel of x for each group, of `each` channels of y -------------------------------------

extern "C" __global__ void depthwise(const X *x, const V *w, const float *bias, Y *y, size N, size O,
                                     size each, WINDOWS) {
  for (size u = first_index(); u < N * O * P * Q; u += all_threads()) {
    size n = u, q = take_digit(n, Q), p = take_digit(n, P), o = take_digit(n, O);
    const X *plane = x + (n * (O / each) + o / each) * H * W;
    float total = 0.0f;
    for (int i = 0; i < KH; i++) {
      int h = (int)(p * SH - PH + i * DH);
      float sum = 0.0f;
      for (int j = 0; j < KW; j++) {
        int at = (int)(q * SW - PW + j * DW);
        float v = is_in(h, H) && is_in(at, W) ? load(plane, h * W + at) : 0.0f;
        sum += load(w, (o * KH + i) * KW + j) * v;  // of an infinite w, NaN in the padding, too
        if (j % 32 == 31) total += sum, sum = 0.0f;
      }
      total += sum;
    }
    store(y, u, bias ? total + bias[o] : total);
  }
}

extern "C" __global__ void depthwise_dx(const X *dy, const V *w, const float *bias, Y *dx, size N,
                                        size O, size each, WINDOWS) {
  size C = O / each;
  for (size u = first_index(); u < N * C * H * W; u += all_threads()) {
    size n = u, at = take_digit(n, W), h = take_digit(n, H), c = take_digit(n, C);
    float total = 0.0f;
    for (size o = c * each; o < (c + 1) * each; o++)
      for (int i = 0; i < KH; i++) {
        int p = window_at((int)(h + PH - i * DH), SH, P);
        if (p < 0) continue;
        float sum = 0.0f;
        for (int j = 0; j < KW; j++) {
          int q = window_at((int)(at + PW - j * DW), SW, Q);
          if (q >= 0)
            sum += load(w, (o * KH + i) * KW + j) * load(dy, ((n * O + o) * P + p) * Q + q);
          if (j % 32 == 31) total += sum, sum = 0.0f;
        }
        total += sum;
      }
    store(dx, u, bias ? total + bias[c] : total);
  }
}

// Of windows of all pictures, `length` a block: parts (..., O, KH, KW), to be summed. X is of dy.
extern "C" __global__ void depthwise_dw(const X *dy, const V *x, float *parts, size N, size O,
                                        size each, size length, WINDOWS) {
  size count = N * P * Q, divided = (count + length - 1) / length;
  for (size b = blockIdx.x; b < divided * O * KH * KW; b += gridDim.x) {
    size part = b, j = take_digit(part, KW), i = take_digit(part, KH), o = take_digit(part, O);
    size r = part * length + threadIdx.x, stop = min((part + 1) * length, count);
    size n = r, q = take_digit(n, Q), p = take_digit(n, P);
    size dn = blockDim.x, dq = take_digit(dn, Q), dp = take_digit(dn, P);  // to the next window
    float total = 0.0f;
    for (; r < stop; r += blockDim.x) {
      int h = (int)(p * SH - PH + i * DH), w = (int)(q * SW - PW + j * DW);
      size plane = n * (O / each) + o / each;
      float v = is_in(h, H) && is_in(w, W) ? load(x, (plane * H + h) * W + w) : 0.0f;
      total += load(dy, ((n * O + o) * P + p) * Q + q) * v;
      q += dq, p += dp, n += dn;
      if (q >= Q) q -= Q, p++;
      if (p >= P) p -= P, n++;
    }
    total = block_sum(total);
    if (threadIdx.x == 0) parts[b] = total;
  }
}
