// A window of an array of any number of axes.  `geometry` has two numbers an axis: the
// window's extent, and the stride, in elements, of the whole array.
#include "common.cuh"

// The element of the whole array that is element i of the window.
__device__ inline long long whole_at(long long i,
                                            const long long* geometry, int axes,
                                            long long offset) {
  long long at = offset;
  for (int axis = axes - 1; axis >= 0; --axis) {
    long long extent = geometry[2 * axis], rest = quotient(i, extent);
    at += (i - rest * extent) * geometry[2 * axis + 1];
    i = rest;
  }
  return at;
}

// part = the window of whole that starts at `offset`.
extern "C" __global__ void crop_forward(long long n, const float* whole,
                                        float* part, const long long* geometry,
                                        int axes, long long offset) {
  GRID_STRIDE_LOOP(i, n) {
    part[i] = whole[whole_at(i, geometry, axes, offset)];
  }
}

// The window of whole = part; the rest stays as it is.
extern "C" __global__ void crop_backward(long long n, const float* part,
                                         float* whole,
                                         const long long* geometry, int axes,
                                         long long offset) {
  GRID_STRIDE_LOOP(i, n) {
    whole[whole_at(i, geometry, axes, offset)] = part[i];
  }
}
