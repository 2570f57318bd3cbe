// Rows of weights (inputs, width) by number; indices are floats, as labels are.
#include "common.cuh"

// y[m] = weights[index[m]]; n is indices * width.
extern "C" __global__ void embed_forward(long long n, const float* index,
                                         const float* weights, float* y,
                                         long long width) {
  GRID_STRIDE_LOOP(i, n) {
    long long m = quotient(i, width);
    y[i] = weights[(long long)index[m] * width + (i - m * width)];
  }
}

// dw[index[m]] = the sum of dy over all m with that index, in the order of m, so that
// every run adds alike.  Rows without an index stay as they are.
extern "C" __global__ void embed_backward(long long n, const float* index,
                                          const float* dy, float* dw,
                                          long long indices, long long width) {
  GRID_STRIDE_LOOP(i, n) {
    long long m = quotient(i, width), column = i - m * width;
    bool first = true;
    for (long long k = 0; k < m && first; ++k) first = index[k] != index[m];
    if (!first) continue;
    float total = 0;
    for (long long k = m; k < indices; ++k)
      if (index[k] == index[m]) total += dy[k * width + column];
    dw[(long long)index[m] * width + column] = total;
  }
}
