// Local response normalization within channels.  Arrays are (planes, rows, columns); a
// neighbourhood has size x size pixels, and outside of the image are zeros.
#include "common.cuh"

// The pixels of a neighbourhood that lie in the image, along one axis.
struct Near {
  long long begin, end;
};

__device__ inline Near near_of(long long at, long long half, long long extent) {
  return {at < half ? 0 : at - half, at + half < extent ? at + half + 1 : extent};
}

// 1 + ratio * the sum of squares around element i.
__device__ inline float scale_within(const float* x, long long i, int size,
                                     long long rows, long long columns,
                                     float ratio) {
  Place at = place_of(i, rows, columns);
  Near down = near_of(at.middle, size / 2, rows);
  Near right = near_of(at.inner, size / 2, columns);
  float total = 0;
  for (long long h = down.begin; h < down.end; ++h)
    for (long long w = right.begin; w < right.end; ++w) {
      float value = x[(at.outer * rows + h) * columns + w];
      total += value * value;
    }
  return 1 + ratio * total;
}

// y = x * scale ** -beta; scale is kept for backward.
extern "C" __global__ void lrn_within_forward(long long n, const float* x,
                                              float* scale, float* y, int size,
                                              long long rows, long long columns,
                                              float ratio, float beta) {
  GRID_STRIDE_LOOP(i, n) {
    float s = scale_within(x, i, size, rows, columns, ratio);
    scale[i] = s;
    y[i] = x[i] * powf(s, -beta);
  }
}

// The same without a backward pass to come.
extern "C" __global__ void lrn_within_test(long long n, const float* x, float* y,
                                           int size, long long rows,
                                           long long columns, float ratio,
                                           float beta) {
  GRID_STRIDE_LOOP(i, n) {
    float s = scale_within(x, i, size, rows, columns, ratio);
    y[i] = x[i] * powf(s, -beta);
  }
}

// dx = dy * scale ** -beta - factor * x * the sum over the neighbours of
// dy * x * scale ** (-beta - 1).  dx may be neither of the others.
extern "C" __global__ void lrn_within_backward(long long n, const float* x,
                                               const float* dy,
                                               const float* scale, float* dx,
                                               int size, long long rows,
                                               long long columns, float factor,
                                               float beta) {
  GRID_STRIDE_LOOP(i, n) {
    Place at = place_of(i, rows, columns);
    Near down = near_of(at.middle, size / 2, rows);
    Near right = near_of(at.inner, size / 2, columns);
    float total = 0;
    for (long long h = down.begin; h < down.end; ++h)
      for (long long w = right.begin; w < right.end; ++w) {
        long long j = (at.outer * rows + h) * columns + w;
        total += dy[j] * x[j] * powf(scale[j], -beta) / scale[j];
      }
    dx[i] = dy[i] * powf(scale[i], -beta) - factor * x[i] * total;
  }
}
