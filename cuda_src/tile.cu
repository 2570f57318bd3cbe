// Copies of an array one after the other along an axis: (outer, tiles, inner).
#include "common.cuh"

// y[outer, tile, inner] = x[outer, inner]; n is the size of y.
extern "C" __global__ void tile_forward(long long n, const float* x, float* y,
                                        long long tiles, long long inner) {
  GRID_STRIDE_LOOP(i, n) {
    Place at = place_of(i, tiles, inner);
    y[i] = x[at.outer * inner + at.inner];
  }
}

// dx[outer, inner] = the sum of dy over the tiles; n is the size of dx.
extern "C" __global__ void tile_backward(long long n, const float* dy, float* dx,
                                         long long tiles, long long inner) {
  GRID_STRIDE_LOOP(i, n) {
    long long outer = quotient(i, inner);
    const float* from = dy + outer * tiles * inner + (i - outer * inner);
    float total = 0;
    for (long long tile = 0; tile < tiles; ++tile) total += from[tile * inner];
    dx[i] = total;
  }
}
