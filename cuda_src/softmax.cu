// Softmax along the middle axis of (outer, classes, inner).
#include "common.cuh"

// y = exp(x - max) / sum, a block for each row of classes (inner is 1).  y may be x.
extern "C" __global__ void softmax_forward_rows(long long n, const float* x,
                                                float* y, long long classes) {
  BLOCK_LOOP(row, n) {
    const float* from = x + row * classes;
    float* to = y + row * classes;
    float largest = -LARGEST_FLOAT;
    THREAD_LOOP(i, classes) { largest = Greater::of(largest, from[i]); }
    largest = block_max(largest);
    float total = 0;
    THREAD_LOOP(i, classes) {
      to[i] = expf(from[i] - largest);
      total += to[i];
    }
    total = block_sum(total);
    THREAD_LOOP(i, classes) { to[i] /= total; }
  }
}

// The same with a thread for each (outer, inner).
extern "C" __global__ void softmax_forward(long long n, const float* x, float* y,
                                           long long classes, long long inner) {
  GRID_STRIDE_LOOP(i, n) {
    long long outer = quotient(i, inner);
    long long start = outer * classes * inner + (i - outer * inner);
    long long end = start + classes * inner;
    float largest = -LARGEST_FLOAT;
    for (long long j = start; j < end; j += inner)
      largest = Greater::of(largest, x[j]);
    float total = 0;
    for (long long j = start; j < end; j += inner) {
      y[j] = expf(x[j] - largest);
      total += y[j];
    }
    for (long long j = start; j < end; j += inner) y[j] /= total;
  }
}

// dx = (dy - the sum of dy * y) * y, a block for each row.  dx may be dy.
extern "C" __global__ void softmax_backward_rows(long long n, const float* y,
                                                 const float* dy, float* dx,
                                                 long long classes) {
  BLOCK_LOOP(row, n) {
    long long start = row * classes;
    float total = 0;
    THREAD_LOOP(i, classes) { total += dy[start + i] * y[start + i]; }
    total = block_sum(total);
    THREAD_LOOP(i, classes) {
      dx[start + i] = (dy[start + i] - total) * y[start + i];
    }
  }
}

// The same with a thread for each (outer, inner).
extern "C" __global__ void softmax_backward(long long n, const float* y,
                                            const float* dy, float* dx,
                                            long long classes, long long inner) {
  GRID_STRIDE_LOOP(i, n) {
    long long outer = quotient(i, inner);
    long long start = outer * classes * inner + (i - outer * inner);
    long long end = start + classes * inner;
    float total = 0;
    for (long long j = start; j < end; j += inner) total += dy[j] * y[j];
    for (long long j = start; j < end; j += inner)
      dx[j] = (dy[j] - total) * y[j];
  }
}
