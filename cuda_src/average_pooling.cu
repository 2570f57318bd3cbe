// The mean of each window, over its size clipped to the padded image (Caffe's rule).
#include "windows.cuh"

// The extent along one axis by which the window at `out` is divided.
__device__ inline int extent(Axis axis, int out) {
  int begin = out * axis.stride - axis.pad;
  int end = begin + axis.kernel, edge = axis.image + axis.pad;
  int size = (end < edge ? end : edge) - begin;
  return size > 1 ? size : 1;
}

// y = the sum of the window's pixels / its size.
extern "C" __global__ void average_pooling_forward(long long n, const float* x,
                                                   float* y,
                                                   const int* windows) {
  Axis a = axis_of(windows, 0), b = axis_of(windows, 1), c = axis_of(windows, 2);
  long long pixels = (long long)a.image * b.image * c.image;
  GRID_STRIDE_LOOP(i, n) {
    Place low = place_of(i, b.out, c.out);
    long long plane = quotient(low.outer, a.out);
    int depth = (int)(low.outer - plane * a.out);
    int row = (int)low.middle, column = (int)low.inner;
    Range za = pixels_of(a, depth), yb = pixels_of(b, row);
    Range xc = pixels_of(c, column);
    const float* image = x + plane * pixels;
    float total = 0;
    for (int z = za.begin; z < za.end; ++z)
      for (int h = yb.begin; h < yb.end; ++h)
        for (int w = xc.begin; w < xc.end; ++w)
          total += image[(z * b.image + h) * c.image + w];
    y[i] = total / ((float)extent(a, depth) * extent(b, row) * extent(c, column));
  }
}

// dx = the sum of dy / size of all windows that hold the pixel.
extern "C" __global__ void average_pooling_backward(long long n,
                                                    const float* dy, float* dx,
                                                    const int* windows) {
  Axis a = axis_of(windows, 0), b = axis_of(windows, 1), c = axis_of(windows, 2);
  GRID_STRIDE_LOOP(i, n) {
    Place low = place_of(i, b.image, c.image);
    long long plane = quotient(low.outer, a.image);
    Range za = windows_at(a, (int)(low.outer - plane * a.image));
    Range yb = windows_at(b, (int)low.middle);
    Range xc = windows_at(c, (int)low.inner);
    float total = 0;
    for (int z = za.begin; z < za.end; ++z)
      for (int h = yb.begin; h < yb.end; ++h)
        for (int w = xc.begin; w < xc.end; ++w) {
          long long from = ((plane * a.out + z) * b.out + h) * c.out + w;
          total += dy[from] / ((float)extent(a, z) * extent(b, h) * extent(c, w));
        }
    dx[i] = total;
  }
}
