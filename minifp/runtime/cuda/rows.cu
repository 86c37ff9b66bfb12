// Formulas of rows: sums along each row that further numbers of it need, and then what is stored.
//
// Made for a formula by row_text.py, which puts text in place of the names with a dollar: SIZES,
// ARRAYS, RESULTS and NUMBERS are parameters, KEPT finds where the row begins in each array, BODY
// computes it. h0, ... are numbers of arrays as they are stored: of the whole row where a thread
// can hold what it takes of it, so that memory is read once, or else of a chunk.

template <class T> __device__ inline void read_chunk(const T *x, T *v) {
  auto pack = load_pack<T, CHUNK>(x, 0);
#pragma unroll
  for (int k = 0; k < CHUNK; k++) v[k] = pack.v[k];
}
template <int OP> __device__ inline float chunk_joined(const float *v) {
  return joined<OP>(joined<OP>(joined<OP>(v[0], v[1]), joined<OP>(v[2], v[3])),
                    joined<OP>(joined<OP>(v[4], v[5]), joined<OP>(v[6], v[7])));
}

extern "C" __global__ void __launch_bounds__(MOST_ALONG)
    by_rows(size rows, size n$SIZES$ARRAYS$RESULTS$NUMBERS) {
  for (size b = blockIdx.x; b < blocks_of_rows(rows, GROUP); b += gridDim.x) {
    Row r = row_of(b, rows, n, STEP, GROUP);
    INDEX rest = (INDEX)(r.is_in ? r.number : 0);
    $KEPT
    $BODY
  }
}
