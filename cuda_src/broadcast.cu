// A factor or a bias for each place of the middle axis of (outer, middle, inner).
#include "common.cuh"

// y = x + bias.  y may be x.
extern "C" __global__ void bias_forward(long long n, const float* x,
                                        const float* bias, float* y,
                                        long long middle, long long inner) {
  GRID_STRIDE_LOOP(i, n) {
    y[i] = x[i] + bias[place_of(i, middle, inner).middle];
  }
}

// y = x * factor: forward, and the gradient of x.  y may be x.
extern "C" __global__ void scale_forward(long long n, const float* x,
                                         const float* factor, float* y,
                                         long long middle, long long inner) {
  GRID_STRIDE_LOOP(i, n) {
    y[i] = x[i] * factor[place_of(i, middle, inner).middle];
  }
}

// y = x * factor + bias.  y may be x.
extern "C" __global__ void scale_bias_forward(long long n, const float* x,
                                              const float* factor,
                                              const float* bias, float* y,
                                              long long middle,
                                              long long inner) {
  GRID_STRIDE_LOOP(i, n) {
    long long at = place_of(i, middle, inner).middle;
    y[i] = x[i] * factor[at] + bias[at];
  }
}

// total = the sum of x over outer and inner; a block for each of the n places.
extern "C" __global__ void sum_over(long long n, const float* x, float* total,
                                    long long outer, long long inner) {
  long long values = outer * inner;
  BLOCK_LOOP(at, n) {
    float sum = 0;
    THREAD_LOOP(i, values) {
      long long o = quotient(i, inner);
      sum += x[(o * n + at) * inner + (i - o * inner)];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) total[at] = sum;
  }
}

// total = the sum of x * y over outer and inner: the gradient of a factor.
extern "C" __global__ void sum_products_over(long long n, const float* x,
                                             const float* y, float* total,
                                             long long outer, long long inner) {
  long long values = outer * inner;
  BLOCK_LOOP(at, n) {
    float sum = 0;
    THREAD_LOOP(i, values) {
      long long o = quotient(i, inner);
      long long from = (o * n + at) * inner + (i - o * inner);
      sum += x[from] * y[from];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) total[at] = sum;
  }
}
