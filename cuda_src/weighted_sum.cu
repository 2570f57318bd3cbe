// Weighted sums of arrays of one shape.  Outputs may be inputs.
#include "common.cuh"

// y = a * x.
extern "C" __global__ void scaled_copy(long long n, const float* x, float* y,
                                       float a) {
  GRID_STRIDE_LOOP(i, n) { y[i] = a * x[i]; }
}

// y += a * x.
extern "C" __global__ void scaled_add(long long n, const float* x, float* y,
                                      float a) {
  GRID_STRIDE_LOOP(i, n) { y[i] += a * x[i]; }
}

// z = a * x + b * y.
extern "C" __global__ void scaled_pair(long long n, const float* x,
                                       const float* y, float* z, float a,
                                       float b) {
  GRID_STRIDE_LOOP(i, n) { z[i] = a * x[i] + b * y[i]; }
}
