// Local response normalization across channels.  Arrays are (N, channels, pixels).
#include "common.cuh"

// scale = k + ratio * the sum of squares over `size` channels around this one.
__device__ inline float scale_at(const float* x, long long i,
                                        long long channel, int size,
                                        long long channels, long long pixels,
                                        float ratio, float k) {
  long long half = size / 2;
  long long begin = channel < half ? -channel : -half;
  long long end = channel + half < channels ? half : channels - 1 - channel;
  float total = 0;
  for (long long d = begin; d <= end; ++d) {
    float value = x[i + d * pixels];
    total += value * value;
  }
  return k + ratio * total;
}

// y = x * scale ** -beta; scale is kept for backward.
extern "C" __global__ void lrn_forward(long long n, const float* x,
                                       float* scale, float* y, int size,
                                       long long channels, long long pixels,
                                       float ratio, float k, float beta) {
  GRID_STRIDE_LOOP(i, n) {
    long long channel = place_of(i, channels, pixels).middle;
    float s = scale_at(x, i, channel, size, channels, pixels, ratio, k);
    scale[i] = s;
    y[i] = x[i] * powf(s, -beta);
  }
}

// The same without a backward pass to come.
extern "C" __global__ void lrn_test(long long n, const float* x, float* y,
                                    int size, long long channels,
                                    long long pixels, float ratio, float k,
                                    float beta) {
  GRID_STRIDE_LOOP(i, n) {
    long long channel = place_of(i, channels, pixels).middle;
    float s = scale_at(x, i, channel, size, channels, pixels, ratio, k);
    y[i] = x[i] * powf(s, -beta);
  }
}

// dx = dy * scale ** -beta - factor * x * the sum over the neighbours of
// dy * x * scale ** (-beta - 1).  dx may be neither of the others.
extern "C" __global__ void lrn_backward(long long n, const float* x,
                                        const float* dy, const float* scale,
                                        float* dx, int size, long long channels,
                                        long long pixels, float factor,
                                        float beta) {
  GRID_STRIDE_LOOP(i, n) {
    long long channel = place_of(i, channels, pixels).middle, half = size / 2;
    long long begin = channel < half ? -channel : -half;
    long long end = channel + half < channels ? half : channels - 1 - channel;
    float total = 0;
    for (long long d = begin; d <= end; ++d) {
      long long j = i + d * pixels;
      total += dy[j] * x[j] * powf(scale[j], -beta) / scale[j];
    }
    dx[i] = dy[i] * powf(scale[i], -beta) - factor * x[i] * total;
  }
}
