// The largest pixel of each window, and where it lies.  Planes are (image) and (out).
#include "windows.cuh"

// y = the largest x of the window, the first of equals; winner = its index in the
// plane.  A window without a number has the least float and winner -1.
extern "C" __global__ void max_pooling_forward(long long n, const float* x,
                                               float* y, int* winner,
                                               const int* windows) {
  Axis a = axis_of(windows, 0), b = axis_of(windows, 1), c = axis_of(windows, 2);
  long long pixels = (long long)a.image * b.image * c.image;
  GRID_STRIDE_LOOP(i, n) {
    Place low = place_of(i, b.out, c.out);
    long long plane = quotient(low.outer, a.out);
    Range za = pixels_of(a, (int)(low.outer - plane * a.out));
    Range yb = pixels_of(b, (int)low.middle);
    Range xc = pixels_of(c, (int)low.inner);
    const float* image = x + plane * pixels;
    float best = -LARGEST_FLOAT;
    int index = -1;
    for (int z = za.begin; z < za.end; ++z)
      for (int h = yb.begin; h < yb.end; ++h)
        for (int w = xc.begin; w < xc.end; ++w) {
          int at = (z * b.image + h) * c.image + w;
          if (image[at] > best) {
            best = image[at];
            index = at;
          }
        }
    y[i] = best;
    winner[i] = index;
  }
}

// index = winner, as a float: what a second top shows.
extern "C" __global__ void winners_as_floats(long long n, const int* winner,
                                             float* index) {
  GRID_STRIDE_LOOP(i, n) { index[i] = (float)winner[i]; }
}

// dx = the sum of dy of all windows in which the pixel won.
extern "C" __global__ void max_pooling_backward(long long n, const float* dy,
                                                const int* winner, float* dx,
                                                const int* windows) {
  Axis a = axis_of(windows, 0), b = axis_of(windows, 1), c = axis_of(windows, 2);
  GRID_STRIDE_LOOP(i, n) {
    Place low = place_of(i, b.image, c.image);
    long long plane = quotient(low.outer, a.image);
    int depth = (int)(low.outer - plane * a.image);
    int at = (depth * b.image + (int)low.middle) * c.image + (int)low.inner;
    Range za = windows_at(a, depth);
    Range yb = windows_at(b, (int)low.middle);
    Range xc = windows_at(c, (int)low.inner);
    float total = 0;
    for (int z = za.begin; z < za.end; ++z)
      for (int h = yb.begin; h < yb.end; ++h)
        for (int w = xc.begin; w < xc.end; ++w) {
          long long from = ((plane * a.out + z) * b.out + h) * c.out + w;
          if (winner[from] == at) total += dy[from];
        }
    dx[i] = total;
  }
}
