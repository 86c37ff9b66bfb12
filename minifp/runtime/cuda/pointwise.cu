// What is computed element by element: y = f(x0, x1, ...), each in its stored format, in float32.
//
// Made for a formula by minifp/runtime/cuda/pointwise.py, which puts text in place of the names with a
// dollar: ARRAYS and NUMBERS are parameters (const X0 *x0, ... and , float p0, ...); VALUES,
// GATHERED and PACKED what the formula is given of one element: of all arrays at the same place,
// each at its own, or from packs, which PACKS reads. SIZES are the sizes of axes and the steps of
// arrays along them, and PLACES finds with them where element `rest` is.

extern "C" __global__ void flat(size n, $ARRAYS, Y *y$NUMBERS) {
  for (size i = first_index(); i < n; i += all_threads()) store(y, i, f($VALUES));
}

// All arrays begin where 16 bytes can be read at once; the last few elements are one by one.
extern "C" __global__ void packed(size n, $ARRAYS, Y *y$NUMBERS) {
  size packs = n / PACK;
  for (size j = first_index(); j < packs; j += all_threads()) {
    size i = j * PACK;
    $PACKS
    Pack<Y, PACK> r;
#pragma unroll
    for (int k = 0; k < PACK; k++) store(r.v, k, f($PACKED));
    store_pack<Y, PACK>(y, i, r);
  }
  size i = packs * PACK + first_index();
  if (i < n) store(y, i, f($VALUES));
}
