// Sums of squares, whose order no one can tell in single precision.
#include "common.cuh"

// parts[j] = the sum of squares of elements j * size to (j + 1) * size of x, which has
// `total`, in double precision; a block a part.
extern "C" __global__ void sum_of_squares(long long n, const float* x,
                                          double* parts, long long size,
                                          long long total) {
  BLOCK_LOOP(part, n) {
    long long begin = part * size;
    long long count = total - begin < size ? total - begin : size;
    double sum = 0;
    THREAD_LOOP(i, count) {
      double value = x[begin + i];
      sum += value * value;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) parts[part] = sum;
  }
}
