// What a step does before it updates: decide, and adapt the scale.
//
// `state` is the step's memory, doubles in this order:
//   SCALE GOOD SKIPPED ATTEMPTS | of the last step: BEFORE NORM ALL_FINITE | for each optimizer:
//   STEPPED FACTOR STEPS SQUARES
enum { SCALE, GOOD, SKIPPED, ATTEMPTS, BEFORE, NORM, ALL_FINITE, FIRST };
enum { STEPPED, FACTOR, STEPS, SQUARES, EACH };

// The sum of squares of one optimizer's gradients, of parts that one block adds up.
extern "C" __global__ void total(const double *squares, size count, double *state, int optimizer) {
  double sum = 0.0;
  for (size i = threadIdx.x; i < count; i += THREADS) sum += squares[i];
  sum = block_total<THREADS>(sum);
  if (threadIdx.x == 0) state[FIRST + optimizer * EACH + SQUARES] = sum;
}

// Whether each optimizer steps, by what it multiplies gradients, and the scale of the next step.
// clip: the largest norm, or 0 for any. growth: of the scale, 1 for a static one. good, bad: after
// how many steps of the kind in a row the scale changes.
extern "C" __global__ void decide(double *state, int optimizers, double dial, double clip,
                                  int together, int even_if_not_finite, double growth,
                                  double backoff, double good, double bad, double least,
                                  double most) {
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
  if (growth > 1.0) {
    state[GOOD] = all ? state[GOOD] + 1 : 0.0;
    if (!all) {
      if (fmod(state[SKIPPED], bad) == 0.0) state[SCALE] = fmax(state[SCALE] * backoff, least);
    } else if (state[GOOD] == good) {
      state[SCALE] = fmin(state[SCALE] * growth, most);
      state[GOOD] = 0.0;
    }
  }
}
