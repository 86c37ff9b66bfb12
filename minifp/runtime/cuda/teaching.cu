// A product of matrices on tensor cores, to be read: y (m, n) = a (m, k) b (k, n), in half.
//
// A warp, which is 32 threads in step, computes a tile of 16 x 16 results. It keeps them in a
// fragment: a tile that is spread over the registers of its 32 threads, in an order only the
// hardware knows. So no thread has a tile by itself, and what is done with one is done by all.
//
// ACC is the format of sums: where it is half, every partial sum is rounded to 11 bits.
#include <mma.h>
using namespace nvcuda;

enum { TILE = 16 };

extern "C" __global__ void tile_product(const half *a, const half *b, Y *y, size m, size n, size k) {
  __shared__ half a_tile[TILE * TILE], b_tile[TILE * TILE];
  __shared__ ACC y_tile[TILE * TILE];
  size across = (n + TILE - 1) / TILE;  // tiles side by side
  size row = blockIdx.x / across * TILE, column = blockIdx.x % across * TILE;

  wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, half, wmma::row_major> a_part;
  wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, half, wmma::row_major> b_part;
  wmma::fragment<wmma::accumulator, TILE, TILE, TILE, ACC> sums;
  wmma::fill_fragment(sums, 0.0f);

  for (size step = 0; step < k; step += TILE) {
    // The next tiles of a and b. Behind their edges are zeros, which add nothing.
    for (int i = threadIdx.x; i < TILE * TILE; i += warpSize) {
      size r = i / TILE, c = i % TILE;
      bool in_a = row + r < m && step + c < k, in_b = step + r < k && column + c < n;
      store(a_tile, i, in_a ? load(a, (row + r) * k + step + c) : 0.0f);
      store(b_tile, i, in_b ? load(b, (step + r) * n + column + c) : 0.0f);
    }
    __syncwarp();  // the tiles are there
    wmma::load_matrix_sync(a_part, a_tile, TILE);
    wmma::load_matrix_sync(b_part, b_tile, TILE);
    wmma::mma_sync(sums, a_part, b_part, sums);  // sums = a_part b_part + sums: 4,096 products
    __syncwarp();  // nobody reads the tiles any more
  }

  // Through memory, as only there an element has a place: rounded once, to what is stored.
  wmma::store_matrix_sync(y_tile, sums, TILE, wmma::mem_row_major);
  __syncwarp();
  for (int i = threadIdx.x; i < TILE * TILE; i += warpSize) {
    size r = row + i / TILE, c = column + i % TILE;
    if (r < m && c < n) store(y, r * n + c, load(y_tile, i));
  }
}
