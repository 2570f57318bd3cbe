// The loss of SigmoidCrossEntropyLoss: scores, and targets in [0, 1].
#include "common.cuh"

// cost = -x * (t - (x >= 0)) + log(1 + exp(x - 2 x (x >= 0))), and counted = 1;
// 0 and 0 where the target is `ignored`.
extern "C" __global__ void sigmoid_cross_entropy_forward(
    long long n, const float* scores, const float* targets, float* cost,
    float* counted, int has_ignored, int ignored) {
  GRID_STRIDE_LOOP(i, n) {
    float x = scores[i], t = targets[i];
    bool counts = !(has_ignored && (int)t == ignored);
    float positive = x >= 0 ? 1 : 0;
    float value = log1pf(expf(x - 2 * x * positive)) - x * (t - positive);
    counted[i] = counts ? 1 : 0;
    cost[i] = counts ? value : 0;
  }
}

// dx = factor * (sigmoid(x) - t); 0 where ignored.
extern "C" __global__ void sigmoid_cross_entropy_backward(
    long long n, const float* scores, const float* targets, float* dx,
    int has_ignored, int ignored, float factor) {
  GRID_STRIDE_LOOP(i, n) {
    float t = targets[i];
    bool counts = !(has_ignored && (int)t == ignored);
    float slope = 0.5f * tanhf(0.5f * scores[i]) + 0.5f - t;
    dx[i] = counts ? factor * slope : 0;
  }
}
