// The same for arrays that broadcast, or lie in strides: the result is in C order.
extern "C" __global__ void gathered(size n$SIZES, $ARRAYS, Y *y$NUMBERS) {
  for (size i = first_index(); i < n; i += all_threads()) {
    INDEX rest = (INDEX)i;
    $PLACES
    store(y, i, f($GATHERED));
  }
}
