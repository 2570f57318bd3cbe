// Parts of each row of a matrix: what Concat and Slice copy.
#include "common.cuh"

// target[row, :width] = source[row, :width]; n is rows * width, strides in elements.
extern "C" __global__ void copy_rows(long long n, const float* source,
                                     long long source_stride, float* target,
                                     long long target_stride, long long width) {
  GRID_STRIDE_LOOP(i, n) {
    long long row = quotient(i, width), column = i - row * width;
    target[row * target_stride + column] = source[row * source_stride + column];
  }
}
