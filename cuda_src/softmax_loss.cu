// The loss of SoftmaxWithLoss: probabilities (outer, classes, inner), labels, as
// floats, (outer, inner), and weights of the classes where there are any.
#include "labels.cuh"

// For each of n pieces of `each` items four sums: the costs, -log(max(p, least float))
// times the weight; items that count; those whose label names no class; probabilities
// below the least float.
extern "C" __global__ void label_losses(
    long long n, const float* probabilities, const float* labels,
    const float* weights, float* sums, long long items, long long each,
    long long classes, long long inner, int has_weights, int has_ignored,
    int ignored) {
  BLOCK_LOOP(piece, n) {
    float cost = 0, counted = 0, wrong = 0, low = 0;
    THREAD_LOOP(k, size_of(piece, each, items)) {
      long long i = piece * each + k;
      if (!counts(labels[i], has_ignored, ignored)) continue;
      int own = class_of(labels[i], classes);
      counted += 1;
      if (own < 0) {
        wrong += 1;
        continue;
      }
      long long outer = quotient(i, inner);
      float p = probabilities[(outer * classes + own) * inner + i - outer * inner];
      low += p < LEAST_NORMAL_FLOAT ? 1 : 0;
      float item = -logf(p < LEAST_NORMAL_FLOAT ? LEAST_NORMAL_FLOAT : p);
      cost += has_weights ? item * weights[own] : item;
    }
    cost = block_sum(cost);
    counted = block_sum(counted);
    wrong = block_sum(wrong);
    low = block_sum(low);
    if (threadIdx.x == 0) {
      sums[4 * piece] = cost;
      sums[4 * piece + 1] = counted;
      sums[4 * piece + 2] = wrong;
      sums[4 * piece + 3] = low;
    }
  }
}

// dx = (p - (class == label)) * weight * diff / normalizer; 0 where ignored.
extern "C" __global__ void label_slopes(
    long long n, const float* probabilities, const float* labels,
    const float* weights, const float* diff, float* dx, long long classes,
    long long inner, int has_weights, int has_ignored, int ignored,
    float normalizer) {
  float rate = diff[0] / normalizer;
  GRID_STRIDE_LOOP(i, n) {
    Place at = place_of(i, classes, inner);
    float label = labels[at.outer * inner + at.inner];
    int own = class_of(label, classes);
    float slope = probabilities[i] - (at.middle == own ? 1 : 0);
    if (has_weights) slope = own < 0 ? 0 : slope * weights[own];
    dx[i] = counts(label, has_ignored, ignored) ? slope * rate : 0;
  }
}
