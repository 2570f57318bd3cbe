// One step of an LSTM.  Gates are (N, 4 size) in the order i, f, o, g; cells (N, size).
#include "common.cuh"

__device__ inline float logistic(float x) {
  return 0.5f * tanhf(0.5f * x) + 0.5f;
}

// c = f c_before + i g; h = o tanh(c).  f is 0 where cont (N) is 0.  `values` keeps
// the gates' values, f with cont; it may be `sums`.
extern "C" __global__ void lstm_unit_forward(long long n, const float* sums,
                                             const float* before,
                                             const float* cont, float* values,
                                             float* cells, float* shown,
                                             long long size) {
  GRID_STRIDE_LOOP(k, n) {
    long long record = quotient(k, size), base = k + 3 * record * size;
    float i = logistic(sums[base]);
    float f = logistic(sums[base + size]) * cont[record];
    float o = logistic(sums[base + 2 * size]);
    float g = tanhf(sums[base + 3 * size]);
    values[base] = i;
    values[base + size] = f;
    values[base + 2 * size] = o;
    values[base + 3 * size] = g;
    cells[k] = f * before[k] + i * g;
    shown[k] = o * tanhf(cells[k]);
  }
}

// The diffs of the gates' sums and of the cells before, from those of c and h.
extern "C" __global__ void lstm_unit_backward(
    long long n, const float* values, const float* before, const float* cells,
    const float* cells_diff, const float* shown_diff, float* sums_diff,
    float* before_diff, long long size) {
  GRID_STRIDE_LOOP(k, n) {
    long long base = k + 3 * quotient(k, size) * size;
    float i = values[base], f = values[base + size];
    float o = values[base + 2 * size], g = values[base + 3 * size];
    float squashed = tanhf(cells[k]);
    float dc = cells_diff[k] + shown_diff[k] * o * (1 - squashed * squashed);
    sums_diff[base] = dc * g * i * (1 - i);
    sums_diff[base + size] = dc * before[k] * f * (1 - f);
    sums_diff[base + 2 * size] = shown_diff[k] * squashed * o * (1 - o);
    sums_diff[base + 3 * size] = dc * i * (1 - g * g);
    before_diff[k] = dc * f;
  }
}
