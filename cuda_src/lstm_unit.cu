// One step of an LSTM.  Gates are (N, 4 size) in the order i, f, o, g; cells (N, size).
#include "common.cuh"

__device__ inline float logistic(float x) {
  return 0.5f * tanhf(0.5f * x) + 0.5f;
}

// c = f c_before + i g; h = o tanh(c).  f is 0 where cont (N) is 0.  `gates` holds the
// sums and then their values, f with cont.
extern "C" __global__ void lstm_unit_forward(long long n, float* gates,
                                             const float* before,
                                             const float* cont, float* cells,
                                             float* shown, long long size) {
  GRID_STRIDE_LOOP(k, n) {
    long long record = quotient(k, size), base = k + 3 * record * size;
    float i = logistic(gates[base]);
    float f = logistic(gates[base + size]) * cont[record];
    float o = logistic(gates[base + 2 * size]);
    float g = tanhf(gates[base + 3 * size]);
    gates[base] = i;
    gates[base + size] = f;
    gates[base + 2 * size] = o;
    gates[base + 3 * size] = g;
    cells[k] = f * before[k] + i * g;
    shown[k] = o * tanhf(cells[k]);
  }
}

// The diffs of the gates' sums and of the cells before, from those of c and h.
// before_diff may be cells_diff.
extern "C" __global__ void lstm_unit_backward(
    long long n, const float* gates, const float* before, const float* cells,
    const float* cells_diff, const float* shown_diff, float* sums_diff,
    float* before_diff, long long size) {
  GRID_STRIDE_LOOP(k, n) {
    long long base = k + 3 * quotient(k, size) * size;
    float i = gates[base], f = gates[base + size];
    float o = gates[base + 2 * size], g = gates[base + 3 * size];
    float squashed = tanhf(cells[k]);
    float dc = cells_diff[k] + shown_diff[k] * o * (1 - squashed * squashed);
    sums_diff[base] = dc * g * i * (1 - i);
    sums_diff[base + size] = dc * before[k] * f * (1 - f);
    sums_diff[base + 2 * size] = shown_diff[k] * squashed * o * (1 - o);
    sums_diff[base + 3 * size] = dc * i * (1 - g * g);
    before_diff[k] = dc * f;
  }
}
