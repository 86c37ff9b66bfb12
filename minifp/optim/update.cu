// One update: the rule, and the rounded working copy, in one pass.
//
// Made for a rule by minifp/optim/block_cuda.py, which puts in place of the names with a dollar:
// ARRAYS the weights, states, and what stored weights need besides, VALUES what the rule reads, and
// STORES how its results are stored. control: whether to update at all, the rule's numbers, and
// where weights are rounded by chance the bits of the key and of the step.
extern "C" __global__ void update(size n, const G *g, $ARRAYS, const float *control) {
  if (control[0] == 0.0f) return;
  for (size i = first_index(); i < n; i += all_threads()) {
    float r[RESULTS];
    rule($VALUES, r);
    $STORES
  }
}
