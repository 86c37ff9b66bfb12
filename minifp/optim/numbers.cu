// What an update rule is told, computed once for all elements, in double: see update.cu.
//
// settings: those of the group. base: how many updates its parameters had before the optimizer's
// STEPS were counted from 0.
extern "C" __global__ void numbers(const double *state, int optimizer, const double *settings,
                                   double base, float sign, float *control) {
  if (threadIdx.x || blockIdx.x) return;
  const double *own = state + 7 + optimizer * 4;
  double step = base + own[2], results[COUNT];
  control[0] = (float)own[0];
  control[1] = sign * (float)own[1];
  if (own[0] == 0.0) return;
  rule_numbers($SETTINGS, results);
  for (int i = 0; i < COUNT; i++) control[2 + i] = (float)results[i];
}
