// AdaDelta.
#include "rules.cuh"

// u = g sqrt((U + delta) / (G + delta));  w -= rate u.  fresh is 1 - keep.
extern "C" __global__ void adadelta(long long n, float* weights, const float* grad,
                                    float* gradients, float* updates,
                                    float scale, float decay, int l1, float rate,
                                    float keep, float fresh, float delta) {
  GRID_STRIDE_LOOP(i, n) {
    float g = regularized(grad[i], weights[i], scale, decay, l1);
    float mean = gradients[i] * keep + g * g * fresh;
    gradients[i] = mean;
    float u = sqrtf((updates[i] + delta) / (mean + delta)) * g;
    updates[i] = updates[i] * keep + u * u * fresh;
    weights[i] -= u * rate;
  }
}
