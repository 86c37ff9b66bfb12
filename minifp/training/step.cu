// What a step does before it updates: decide, and adapt the scale.
//
// `state` is the step's memory, doubles in this order:
//   SCALE GOOD SKIPPED OBSERVED MEAN VARIANCE LIMIT ATTEMPTS | of the last step: BEFORE NORM
//   ALL_FINITE | for each optimizer: STEPPED FACTOR STEPS SQUARES
// GOOD to LIMIT are of a loss scale that adapts, by the names that training/loss_scale.py has.
enum { SCALE, GOOD, SKIPPED, OBSERVED, MEAN, VARIANCE, LIMIT, ATTEMPTS };
enum { BEFORE = ATTEMPTS + 1, NORM, ALL_FINITE, FIRST };
enum { STEPPED, FACTOR, STEPS, SQUARES, EACH };

// The sum of squares of one optimizer's gradients, of parts that one block adds up.
extern "C" __global__ void total(const double *squares, size count, double *state, int optimizer) {
  double sum = 0.0;
  for (size i = threadIdx.x; i < count; i += THREADS) sum += squares[i];
  sum = block_total<THREADS>(sum);
  if (threadIdx.x == 0) state[FIRST + optimizer * EACH + SQUARES] = sum;
}

// The scale of the next step, as DynamicLossScale has it; SKIPPED is counted already. good, bad:
// after how many steps of the kind in a row it changes.
__device__ void adapt_dynamic(double *state, bool all, double growth, double backoff, double good,
                              double bad, double least, double most) {
  state[GOOD] = all ? state[GOOD] + 1 : 0.0;
  if (!all) {
    if (fmod(state[SKIPPED], bad) == 0.0) state[SCALE] = fmax(state[SCALE] * backoff, least);
  } else if (state[GOOD] == good) {
    state[SCALE] = fmin(state[SCALE] * growth, most);
    state[GOOD] = 0.0;
  }
}

// The same, as LogNormalLossScale has it. largest: the largest |gradient|, divided by the scale.
__device__ void adapt_log_normal(double *state, bool all, double largest, double beta1,
                                 double beta2, double deviations, double interval, double cutoff,
                                 double least, double most) {
  if (!all) {
    state[SCALE] = fmax(state[SCALE] / 2, least);
    if (state[OBSERVED] || state[LIMIT] < most) state[LIMIT] = state[SCALE];
    state[OBSERVED] = state[MEAN] = state[VARIANCE] = state[GOOD] = 0.0;
    return;
  }
  state[GOOD] += 1;
  if (state[GOOD] == interval) {
    state[LIMIT] = fmin(state[LIMIT] * 2, most);
    state[GOOD] = 0.0;
  }
  if (largest == 0.0) return;
  double n = state[OBSERVED] += 1, x = log2(largest);
  double off = n > 1.0 ? x - state[MEAN] : 1.0;
  state[VARIANCE] += (1 - beta2) / (1 - pow(beta2, n)) * (off * off - state[VARIANCE]);
  state[MEAN] += (1 - beta1) / (1 - pow(beta1, n)) * (x - state[MEAN]);
  double power = floor(cutoff - state[MEAN] - deviations * sqrt(state[VARIANCE]));
  // Of powers of two log2 may be off by an ulp, and its integer part by one: ilogb is exact.
  power = fmin(fmax(power, (double)ilogb(least)), (double)ilogb(state[LIMIT]));
  state[SCALE] = ldexp(1.0, (int)power);
}

// Whether each optimizer steps, by what it multiplies gradients, and the scale of the next step.
// clip: the largest norm, or 0 for any. bits: of the largest |gradient|, a float. rule: of the
// scale, with its numbers: a constant one, DYNAMIC or LOG_NORMAL.
enum { CONSTANT, DYNAMIC, LOG_NORMAL };
extern "C" __global__ void decide(double *state, int optimizers, double dial, double clip,
                                  int together, int even_if_not_finite, const int *bits,
                                  int rule, double a, double b, double c, double d, double e,
                                  double least, double most) {
  if (threadIdx.x || blockIdx.x) return;
  bool all = true;
  double inverse = 1.0 / (state[SCALE] * dial), squares = 0.0, clipped = 0.0;
  for (int o = 0; o < optimizers; o++) {
    double s = state[FIRST + o * EACH + SQUARES];
    all = all && isfinite(s);
    squares += s;
  }
  for (int o = 0; o < optimizers; o++) {
    double *own = state + FIRST + o * EACH;
    bool go = even_if_not_finite || (together ? all : isfinite(own[SQUARES]));
    own[STEPPED] = go;
    if (go) {
      clipped += own[SQUARES];
      own[STEPS] += 1;
    }
  }
  double factor = inverse;
  if (clip > 0.0) {
    double ratio = clip / (sqrt(clipped) * inverse + 1e-6);
    factor = ratio < 1.0 ? inverse * ratio : inverse;
  }
  for (int o = 0; o < optimizers; o++) state[FIRST + o * EACH + FACTOR] = factor;
  state[ATTEMPTS] += 1;
  state[BEFORE] = state[SCALE];
  state[ALL_FINITE] = all;
  state[NORM] = all ? sqrt(squares) * inverse : NAN;
  state[SKIPPED] = all ? 0.0 : state[SKIPPED] + 1;
  double largest = __int_as_float(*bits) / state[SCALE];
  if (rule == DYNAMIC) adapt_dynamic(state, all, a, b, c, d, least, most);
  if (rule == LOG_NORMAL) adapt_log_normal(state, all, largest, a, b, c, d, e, least, most);
}
