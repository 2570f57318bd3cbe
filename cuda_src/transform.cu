// Pictures of bytes as floats: crop, mirror, mean and scale of transform_param.
#include "common.cuh"

// y = (pixel - mean) * scale, of (N, channels, height, width).  A record has six
// numbers: where its first value is in `pixels`; the steps to the next channel, row and
// column; where its first value's mean is; the step to the next column's.  The mean's
// other steps are the same for all records.
extern "C" __global__ void transform(long long n, const unsigned char* pixels,
                                     const long long* numbers,
                                     const float* mean, float* y,
                                     long long channels, long long height,
                                     long long width, long long mean_channel,
                                     long long mean_row, float scale) {
  GRID_STRIDE_LOOP(i, n) {
    Place at = place_of(i, height, width);
    long long record = quotient(at.outer, channels);
    long long channel = at.outer - record * channels;
    const long long* row = numbers + 6 * record;
    float value = pixels[row[0] + channel * row[1] + at.middle * row[2] +
                         at.inner * row[3]];
    y[i] = (value - mean[row[4] + channel * mean_channel + at.middle * mean_row +
                         at.inner * row[5]]) * scale;
  }
}
