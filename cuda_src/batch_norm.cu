// Caffe's BatchNorm.  Arrays are (images, channels, pixels), statistics (channels).
#include "common.cuh"

// The place of value `i` of a channel, of images * pixels values.
__device__ inline long long value_at(long long i, long long channel,
                                            long long channels,
                                            long long pixels) {
  long long image = quotient(i, pixels);
  return (image * channels + channel) * pixels + (i - image * pixels);
}

// mean and variance (biased) of each channel; a block a channel.
extern "C" __global__ void batch_norm_statistics(long long n, const float* x,
                                                 float* mean, float* variance,
                                                 long long images,
                                                 long long pixels) {
  long long values = images * pixels;
  BLOCK_LOOP(channel, n) {
    float total = 0;
    THREAD_LOOP(i, values) { total += x[value_at(i, channel, n, pixels)]; }
    float centre = block_sum(total) / values;
    float squares = 0;
    THREAD_LOOP(i, values) {
      float distance = x[value_at(i, channel, n, pixels)] - centre;
      squares += distance * distance;
    }
    squares = block_sum(squares);
    if (threadIdx.x == 0) {
      mean[channel] = centre;
      variance[channel] = squares / values;
    }
  }
}

// Stored sums = fraction * stored + new; the variance becomes unbiased.
extern "C" __global__ void batch_norm_store(long long n, const float* mean,
                                            const float* variance,
                                            float* mean_sum,
                                            float* variance_sum, float* weight,
                                            float fraction, float unbiased) {
  GRID_STRIDE_LOOP(i, n) {
    mean_sum[i] = mean_sum[i] * fraction + mean[i];
    variance_sum[i] = variance_sum[i] * fraction + unbiased * variance[i];
    if (i == 0) weight[0] = weight[0] * fraction + 1;
  }
}

// mean and variance from the stored sums over their weight; 0 if that is 0.
extern "C" __global__ void batch_norm_stored(long long n, const float* mean_sum,
                                             const float* variance_sum,
                                             const float* weight, float* mean,
                                             float* variance) {
  float scale = weight[0] == 0 ? 0 : 1 / weight[0];
  GRID_STRIDE_LOOP(i, n) {
    mean[i] = mean_sum[i] * scale;
    variance[i] = variance_sum[i] * scale;
  }
}

// deviation = sqrt(variance + eps).  Both may be one array.
extern "C" __global__ void batch_norm_deviation(long long n,
                                                const float* variance,
                                                float* deviation, float eps) {
  GRID_STRIDE_LOOP(i, n) { deviation[i] = sqrtf(variance[i] + eps); }
}

// y = (x - mean) / deviation.  y may be x.
extern "C" __global__ void batch_norm_forward(long long n, const float* x,
                                              const float* mean,
                                              const float* deviation, float* y,
                                              long long channels,
                                              long long pixels) {
  GRID_STRIDE_LOOP(i, n) {
    long long channel = place_of(i, channels, pixels).middle;
    y[i] = (x[i] - mean[channel]) / deviation[channel];
  }
}

// The same, with a second copy of y for backward.
extern "C" __global__ void batch_norm_forward_keep(
    long long n, const float* x, const float* mean, const float* deviation,
    float* y, float* kept, long long channels, long long pixels) {
  GRID_STRIDE_LOOP(i, n) {
    long long channel = place_of(i, channels, pixels).middle;
    kept[i] = y[i] = (x[i] - mean[channel]) / deviation[channel];
  }
}

// The means of dy, and of dy * y, over each channel; a block a channel.
extern "C" __global__ void batch_norm_diff_means(long long n, const float* dy,
                                                 const float* y, float* mean,
                                                 float* along, long long images,
                                                 long long pixels) {
  long long values = images * pixels;
  BLOCK_LOOP(channel, n) {
    float total = 0, product = 0;
    THREAD_LOOP(i, values) {
      long long at = value_at(i, channel, n, pixels);
      total += dy[at];
      product += dy[at] * y[at];
    }
    total = block_sum(total);
    product = block_sum(product);
    if (threadIdx.x == 0) {
      mean[channel] = total / values;
      along[channel] = product / values;
    }
  }
}

// dx = (dy - mean - along * y) / deviation.  dx may be dy.
extern "C" __global__ void batch_norm_backward(
    long long n, const float* dy, const float* y, const float* mean,
    const float* along, const float* deviation, float* dx, long long channels,
    long long pixels) {
  GRID_STRIDE_LOOP(i, n) {
    long long c = place_of(i, channels, pixels).middle;
    dx[i] = (dy[i] - mean[c] - along[c] * y[i]) / deviation[c];
  }
}

// dx = dy / deviation: the statistics are constants.  dx may be dy.
extern "C" __global__ void batch_norm_backward_stored(long long n,
                                                      const float* dy,
                                                      const float* deviation,
                                                      float* dx,
                                                      long long channels,
                                                      long long pixels) {
  GRID_STRIDE_LOOP(i, n) {
    dx[i] = dy[i] / deviation[place_of(i, channels, pixels).middle];
  }
}
