// A window of an array of any number of axes.  `geometry` has three numbers an axis: the
// window's extent, the whole array's, and where the window begins in it.
#include "common.cuh"

// part = the window of whole; n is the size of part.
extern "C" __global__ void crop_forward(long long n, const float* whole,
                                        float* part, const long long* geometry,
                                        int axes) {
  GRID_STRIDE_LOOP(i, n) {
    long long rest = i, stride = 1, at = 0;
    for (int axis = axes - 1; axis >= 0; --axis) {
      const long long* row = geometry + 3 * axis;
      long long above = quotient(rest, row[0]);
      at += (rest - above * row[0] + row[2]) * stride;
      stride *= row[1];
      rest = above;
    }
    part[i] = whole[at];
  }
}

// The window of whole = part, and the rest 0; n is the size of whole.
extern "C" __global__ void crop_backward(long long n, const float* part,
                                         float* whole,
                                         const long long* geometry, int axes) {
  GRID_STRIDE_LOOP(i, n) {
    long long rest = i, stride = 1, at = 0;
    bool inside = true;
    for (int axis = axes - 1; axis >= 0; --axis) {
      const long long* row = geometry + 3 * axis;
      long long above = quotient(rest, row[1]);
      long long place = rest - above * row[1] - row[2];
      inside = inside && place >= 0 && place < row[0];
      at += place * stride;
      stride *= row[0];
      rest = above;
    }
    whole[i] = inside ? part[at] : 0;
  }
}
