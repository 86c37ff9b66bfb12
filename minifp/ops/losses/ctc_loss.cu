// The loss of sequences without an alignment: see ctc_loss.py. A block goes through the steps of a
// sequence, a thread through its states. As on the CPU rows of alpha and beta are kept less an
// offset, the sum in double of what was the largest number of each row before.
//
// labels: (N, L); `kept` rows of S = 2 L + 1 states are there for each sequence: all of its steps,
// or two.

struct Path {
  const size *labels;
  size count, blank;
};

// The class of a state, and whether it may be reached from two states before.
__device__ inline size class_of(const Path &p, size s) { return s % 2 ? p.labels[s / 2] : p.blank; }
__device__ inline bool skips(const Path &p, size s) {
  return s % 2 && s > 1 && p.labels[s / 2] != p.labels[s / 2 - 1];
}

__device__ inline Path path_of(const size *labels, const size *lengths, size n, size L, size blank) {
  return {labels + n * L, 2 * lengths[n] + 1, blank};
}

__device__ inline float log_sum(float a, float b, float c) {
  float top = joined<LARGEST>(joined<LARGEST>(a, b), c);
  if (top == -INFINITY) top = 0.0f;
  return top + logf(expf(a - top) + expf(b - top) + expf(c - top));
}

// The largest of what all threads have, of finite numbers, or 0: the offset of the next row.
__device__ inline float shift_of(float v) {
  float top = block_joined<LARGEST>(v);
  return top > -INFINITY ? top : 0.0f;
}
__device__ inline float finite(float v) { return v < INFINITY ? v : -INFINITY; }

// ---- alpha and the losses ------------------------------------------------------------------------

extern "C" __global__ void ctc_alphas(const X *x, const size *labels, const size *steps,
                                      const size *lengths, float *rows, double *offsets,
                                      double *losses, size T, size N, size C, size L, size blank,
                                      size kept) {
  size S = 2 * L + 1;
  for (size n = blockIdx.x; n < N; n += gridDim.x) {
    Path path = path_of(labels, lengths, n, L, blank);
    float *own = rows + n * kept * S, top = 0.0f;
    double offset = 0.0;
    for (size t = 0; t < steps[n]; t++) {
      float *row = own + t % kept * S, most = -INFINITY;
      const float *before = own + (t + kept - 1) % kept * S;
      offset += top;
      for (size s = threadIdx.x; s < path.count; s += blockDim.x) {
        float score = load(x, (t * N + n) * C + class_of(path, s)), v = s < 2 ? score : -INFINITY;
        if (t)
          v = log_sum(before[s], s ? before[s - 1] : -INFINITY,
                      skips(path, s) ? before[s - 2] : -INFINITY) - top + score;
        row[s] = v;
        most = max(most, finite(v));
      }
      top = shift_of(most);  // all of the row is there behind this
      if (threadIdx.x == 0) offsets[n * T + t] = offset;
    }
    if (threadIdx.x == 0) {
      losses[n] = path.count > 1 ? (double)INFINITY : 0.0;
      if (steps[n]) {
        const float *end = own + (steps[n] - 1) % kept * S + path.count - 1;
        losses[n] = -((double)log_sum(end[0], path.count > 1 ? end[-1] : -INFINITY, -INFINITY) + offset);
      }
    }
    __syncthreads();
  }
}

extern "C" __global__ void ctc_each(const double *losses, Y *y, size N, size zero_infinity) {
  for (size n = first_index(); n < N; n += all_threads()) {
    float v = (float)losses[n];
    store(y, n, zero_infinity && v == INFINITY ? 0.0f : v);
  }
}

// By what a loss is divided.
__device__ inline float divisor(const size *lengths, size n, size N, size mean) {
  return mean ? (float)(max(lengths[n], (size)1) * N) : 1.0f;
}

// Their sum, each divided; by one block.
extern "C" __global__ void ctc_total(const double *losses, const size *lengths, Y *y, size N,
                                     size zero_infinity, size mean) {
  double sum = 0.0;
  for (size n = threadIdx.x; n < N; n += blockDim.x) {
    bool none = zero_infinity && (float)losses[n] == INFINITY;
    sum += none ? 0.0 : losses[n] / (double)divisor(lengths, n, N, mean);
  }
  sum = block_total<THREADS>(sum);
  if (threadIdx.x == 0) store(y, 0, (float)sum);
}

// ---- their gradient ------------------------------------------------------------------------------

// e^(alpha + beta + apart) of each state, and of the blanks together, for all threads.
__device__ inline float probabilities(const Path &path, const float *alpha, const float *beta,
                                      float *gamma, float apart) {
  float blanks = 0.0f;
  for (size s = threadIdx.x; s < path.count; s += blockDim.x) {
    gamma[s] = expf(alpha[s] + beta[s] + apart);
    if (s % 2 == 0) blanks += gamma[s];
  }
  return block_sum(blanks);
}

// Of one step: e^x less the probability of the states of each class. A label that comes repeatedly
// is written where it comes first.
__device__ inline void write_step(const X *x, Y *dx, size at, size C, const Path &path,
                                  const float *gamma, float blanks, float share) {
  for (size c = threadIdx.x; c < C; c += blockDim.x)
    store(dx, at + c, (expf(load(x, at + c)) - (c == path.blank ? blanks : 0.0f)) * share);
  __syncthreads();
  for (size i = threadIdx.x; i < path.count / 2; i += blockDim.x) {
    size c = path.labels[i];
    bool first = true;
    for (size j = 0; j < i && first; j++) first = path.labels[j] != c;
    if (!first) continue;
    float sum = 0.0f;
    for (size j = i; j < path.count / 2; j++)
      if (path.labels[j] == c) sum += gamma[2 * j + 1];
    store(dx, at + c, (expf(load(x, at + c)) - sum) * share);
  }
  __syncthreads();
}

// The row of beta before `behind`, which had `top` as its largest number; its own largest.
__device__ inline float step_back(const X *x, size at, const Path &path, const float *behind,
                                  float *row, float top) {
  float most = -INFINITY;
  for (size s = threadIdx.x; s < path.count; s += blockDim.x) {
    float v[3];
    for (int k = 0; k < 3; k++) {
      bool there = s + k < path.count && (k < 2 || skips(path, s + 2));
      v[k] = there ? behind[s + k] + load(x, at + class_of(path, s + k)) : -INFINITY;
    }
    row[s] = log_sum(v[0], v[1], v[2]) - top;
    most = max(most, finite(row[s]));
  }
  return shift_of(most);
}

// rows: of alpha; work: three rows a sequence, two of beta and one of probabilities; dl: the
// gradient of each loss, which lie `apart` numbers from one another (0: all are one).
extern "C" __global__ void ctc_gradients(const D *dl, const X *x, const size *labels,
                                         const size *steps, const size *lengths, const float *rows,
                                         const double *offsets, const double *losses,
                                         float *work, Y *dx, size T, size N, size C, size L,
                                         size blank, size apart, size zero_infinity, size mean) {
  size S = 2 * L + 1;
  for (size n = blockIdx.x; n < N; n += gridDim.x) {
    Path path = path_of(labels, lengths, n, L, blank);
    bool impossible = (float)losses[n] == INFINITY;
    float share = load(dl, n * apart) / divisor(lengths, n, N, mean);
    float nothing = zero_infinity ? 0.0f : NAN;
    for (size k = threadIdx.x; k < T * C; k += blockDim.x)
      if (k / C >= steps[n] || impossible)
        store(dx, (k / C * N + n) * C + k % C, k / C < steps[n] ? nothing : 0.0f);
    if (impossible) continue;
    float *own = work + n * 3 * S, *gamma = own + 2 * S, top = 0.0f;
    double offset = 0.0;
    for (size t = steps[n] - 1; t >= 0; t--) {
      float *row = own + t % 2 * S, *behind = own + (t + 1) % 2 * S;
      if (t == steps[n] - 1) {
        for (size s = threadIdx.x; s < path.count; s += blockDim.x)
          row[s] = s + 2 >= path.count ? 0.0f : -INFINITY;
        __syncthreads();
      } else {
        offset += top;
        top = step_back(x, ((t + 1) * N + n) * C, path, behind, row, top);
      }
      float between = (float)(offsets[n * T + t] + offset + losses[n]);
      float blanks = probabilities(path, rows + (n * T + t) * S, row, gamma, between);
      write_step(x, dx, (t * N + n) * C, C, path, gamma, blanks, share);
    }
  }
}
