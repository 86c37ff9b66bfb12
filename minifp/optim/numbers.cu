// The numbers of an update rule, computed once for all elements, in double, and those from which
// random ones are drawn: see update.cu.
//
// settings: those of the group. base: how many updates its parameters had before the optimizer's
// STEPS were counted from 0. In place of the name with a dollar minifp/optim/block_cuda.py puts what
// computes the numbers of these.
extern "C" __global__ void numbers(const double *state, int optimizer, const double *settings,
                                   double base, float sign, float *control) {
  if (threadIdx.x || blockIdx.x) return;
  const double *own = state + 11 + optimizer * 4;
  control[0] = (float)own[0];
  if (own[0] == 0.0) return;
  double step = base + own[2], inverse_scale = sign * own[1];
$NUMBERS
}
