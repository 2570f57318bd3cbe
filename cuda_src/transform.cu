// transform_param on uint8 images (N, C, rows, columns): crop, mirror, mean, scale.
// `cuts` has three numbers a record: first row, first column, mirrored or not.
#include "common.cuh"

// The pixel of a record's image that falls on (h, w) of the output.
__device__ inline long long pixel_at(const int* cut, int h, int w,
                                            int width, int columns) {
  int column = cut[1] + (cut[2] ? width - 1 - w : w);
  return (long long)(cut[0] + h) * columns + column;
}

// y = (x - mean[channel]) * scale; y is (N, channels, height, width).
extern "C" __global__ void transform_channel_mean(
    long long n, const unsigned char* x, const int* cuts, const float* mean,
    float* y, int channels, int height, int width, int rows, int columns,
    float scale) {
  GRID_STRIDE_LOOP(i, n) {
    Place at = place_of(i, height, width);
    long long record = quotient(at.outer, channels);
    long long pixel = pixel_at(cuts + 3 * record, (int)at.middle, (int)at.inner,
                               width, columns);
    float value = x[at.outer * rows * columns + pixel];
    y[i] = (value - mean[at.outer - record * channels]) * scale;
  }
}

// y = (x - mean at the same pixel) * scale; mean is (channels, rows, columns).
extern "C" __global__ void transform_mean_image(
    long long n, const unsigned char* x, const int* cuts, const float* mean,
    float* y, int channels, int height, int width, int rows, int columns,
    float scale) {
  GRID_STRIDE_LOOP(i, n) {
    Place at = place_of(i, height, width);
    long long record = quotient(at.outer, channels);
    long long channel = at.outer - record * channels;
    long long pixel = pixel_at(cuts + 3 * record, (int)at.middle, (int)at.inner,
                               width, columns);
    float value = x[at.outer * rows * columns + pixel];
    y[i] = (value - mean[channel * rows * columns + pixel]) * scale;
  }
}
