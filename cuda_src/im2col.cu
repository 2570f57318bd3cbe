// Windows laid out as the columns of a matrix, and summed back into an image.
// x is (planes, image), columns (planes, kernel places, out).
#include "windows.cuh"

// columns = the pixel at each place of each window; 0 on the padding.
extern "C" __global__ void im2col(long long n, const float* x, float* columns,
                                  const int* windows) {
  Axis a = axis_of(windows, 0), b = axis_of(windows, 1), c = axis_of(windows, 2);
  long long pixels = (long long)a.image * b.image * c.image;
  long long outs = (long long)a.out * b.out * c.out;
  long long places = (long long)a.kernel * b.kernel * c.kernel;
  GRID_STRIDE_LOOP(i, n) {
    Place low = place_of(i, b.out, c.out);
    long long plane = quotient(low.outer, a.out);
    int depth = (int)(low.outer - plane * a.out) * a.stride - a.pad;
    int row = (int)low.middle * b.stride - b.pad;
    int column = (int)low.inner * c.stride - c.pad;
    const float* image = x + plane * pixels;
    float* to = columns + plane * places * outs + (i - plane * outs);
    for (int kz = 0; kz < a.kernel; ++kz)
      for (int kh = 0; kh < b.kernel; ++kh)
        for (int kw = 0; kw < c.kernel; ++kw) {
          int z = depth + kz * a.dilation, h = row + kh * b.dilation;
          int w = column + kw * c.dilation;
          bool inside = z >= 0 && z < a.image && h >= 0 && h < b.image &&
                        w >= 0 && w < c.image;
          *to = inside ? image[((long long)z * b.image + h) * c.image + w] : 0;
          to += outs;
        }
  }
}

// The place of the kernel at which window `out` meets `pixel`, or -1.
__device__ inline int meeting(Axis axis, int pixel, int out) {
  int distance = pixel + axis.pad - out * axis.stride;
  return distance % axis.dilation ? -1 : distance / axis.dilation;
}

// x = the sum of all elements of columns that meet the pixel.
extern "C" __global__ void col2im(long long n, const float* columns, float* x,
                                  const int* windows) {
  Axis a = axis_of(windows, 0), b = axis_of(windows, 1), c = axis_of(windows, 2);
  long long outs = (long long)a.out * b.out * c.out;
  long long places = (long long)a.kernel * b.kernel * c.kernel;
  GRID_STRIDE_LOOP(i, n) {
    Place low = place_of(i, b.image, c.image);
    long long plane = quotient(low.outer, a.image);
    int depth = (int)(low.outer - plane * a.image);
    int row = (int)low.middle, column = (int)low.inner;
    Range za = windows_at(a, depth), yb = windows_at(b, row);
    Range xc = windows_at(c, column);
    const float* from = columns + plane * places * outs;
    float total = 0;
    for (int z = za.begin; z < za.end; ++z) {
      int kz = meeting(a, depth, z);
      if (kz < 0) continue;
      for (int h = yb.begin; h < yb.end; ++h) {
        int kh = meeting(b, row, h);
        if (kh < 0) continue;
        for (int w = xc.begin; w < xc.end; ++w) {
          int kw = meeting(c, column, w);
          if (kw < 0) continue;
          long long place = ((long long)kz * b.kernel + kh) * c.kernel + kw;
          total += from[place * outs + ((long long)z * b.out + h) * c.out + w];
        }
      }
    }
    x[i] = total;
  }
}
