// Windows that slide over an image of three axes; images of fewer have axes of 1.
#pragma once
#include "common.cuh"

// One axis of the windows, from the table that the engine makes: six numbers an axis.
struct Axis {
  int kernel, stride, pad, dilation, image, out;
};

__device__ inline Axis axis_of(const int* windows, int axis) {
  const int* row = windows + 6 * axis;
  return {row[0], row[1], row[2], row[3], row[4], row[5]};
}

// A run of positions: from begin to before end.
struct Range {
  int begin, end;
};

// The pixels of the window at `out` that lie in the image; the dilation is 1.
__device__ inline Range pixels_of(Axis axis, int out) {
  int begin = out * axis.stride - axis.pad;
  int end = begin + axis.kernel;
  return {begin < 0 ? 0 : begin, end < axis.image ? end : axis.image};
}

// The windows that meet `pixel`; with a dilation, some between them may miss it.
__device__ inline Range windows_at(Axis axis, int pixel) {
  int span = axis.dilation * (axis.kernel - 1) + 1;
  int from = pixel + axis.pad - span;  // the last pixel before the first window
  int begin = from < 0 ? 0 : from / axis.stride + 1;
  int end = (pixel + axis.pad) / axis.stride + 1;
  return {begin, end < axis.out ? end : axis.out};
}
