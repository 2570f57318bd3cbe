// What comes before every update rule, in the order of arithmetic of
// geeps_caffe/solvers; compiled without fused multiply-add it rounds alike.
#pragma once
#include "common.cuh"

// The gradient of loss and penalty: scale * grad + decay * (L1: sign of) weight.
__device__ inline float regularized(float grad, float weight, float scale,
                                           float decay, int l1) {
  if (scale != 1) grad = grad * scale;
  if (decay == 0) return grad;
  if (!l1) return grad + weight * decay;
  float sign = weight > 0 ? 1 : (weight < 0 ? -1 : weight);
  return grad + sign * decay;
}
