// The loss of SigmoidCrossEntropyLoss: scores, and targets in [0, 1].
#include "labels.cuh"

// For each of n pieces of `each` items two sums: the costs, max(x, 0) - x t +
// log(1 + exp(-|x|)), and the items that count.
extern "C" __global__ void logistic_losses(long long n, const float* scores,
                                           const float* targets, float* sums,
                                           long long items, long long each,
                                           int has_ignored, int ignored) {
  BLOCK_LOOP(piece, n) {
    float cost = 0, counted = 0;
    THREAD_LOOP(k, size_of(piece, each, items)) {
      float x = scores[piece * each + k], t = targets[piece * each + k];
      if (!counts(t, has_ignored, ignored)) continue;
      float positive = x < 0 ? 0 : x, size = x < 0 ? -x : x;
      counted += 1;
      cost += positive - x * t + log1pf(expf(-size));
    }
    cost = block_sum(cost);
    counted = block_sum(counted);
    if (threadIdx.x == 0) {
      sums[2 * piece] = cost;
      sums[2 * piece + 1] = counted;
    }
  }
}

// dx = (sigmoid(x) - t) * diff / normalizer; 0 where ignored.
extern "C" __global__ void logistic_slopes(long long n, const float* scores,
                                           const float* targets,
                                           const float* diff, float* dx,
                                           int has_ignored, int ignored,
                                           float normalizer) {
  float rate = diff[0] / normalizer;
  GRID_STRIDE_LOOP(i, n) {
    float slope = 0.5f * tanhf(0.5f * scores[i]) + 0.5f - targets[i];
    dx[i] = counts(targets[i], has_ignored, ignored) ? slope * rate : 0;
  }
}
