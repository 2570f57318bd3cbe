// The loss of SoftmaxWithLoss: probabilities (outer, classes, inner), labels, as
// floats, (outer, inner).  Labels equal to `ignored` don't count.
#include "common.cuh"

// cost = -log(max(p[label], least float)) and counted = 1; 0 and 0 where ignored.
extern "C" __global__ void softmax_loss_forward(
    long long n, const float* probabilities, const float* labels, float* cost,
    float* counted, long long classes, long long inner, int has_ignored,
    int ignored) {
  GRID_STRIDE_LOOP(i, n) {
    long long outer = quotient(i, inner);
    int label = (int)labels[i];
    bool counts = !(has_ignored && label == ignored);
    counted[i] = counts ? 1 : 0;
    if (!counts) {
      cost[i] = 0;
      continue;
    }
    long long at = (outer * classes + label) * inner + (i - outer * inner);
    float own = probabilities[at];
    cost[i] = -logf(own < LEAST_NORMAL_FLOAT ? LEAST_NORMAL_FLOAT : own);
  }
}

// dx = factor * (p - (class == label)); 0 where ignored.
extern "C" __global__ void softmax_loss_backward(
    long long n, const float* probabilities, const float* labels, float* dx,
    long long classes, long long inner, int has_ignored, int ignored,
    float factor) {
  GRID_STRIDE_LOOP(i, n) {
    Place at = place_of(i, classes, inner);
    int label = (int)labels[at.outer * inner + at.inner];
    bool counts = !(has_ignored && label == ignored);
    float slope = probabilities[i] - (at.middle == label ? 1 : 0);
    dx[i] = counts ? factor * slope : 0;
  }
}
