// RMSProp.
#include "rules.cuh"

// h = keep h + (1 - keep) g^2;  w -= rate g / (sqrt(h) + delta).  fresh is 1 - keep.
extern "C" __global__ void rmsprop(long long n, float* weights, const float* grad,
                                   float* history, float scale, float decay,
                                   int l1, float rate, float keep, float fresh,
                                   float delta) {
  GRID_STRIDE_LOOP(i, n) {
    float g = regularized(grad[i], weights[i], scale, decay, l1);
    float h = history[i] * keep + g * g * fresh;
    history[i] = h;
    weights[i] -= g / (sqrtf(h) + delta) * rate;
  }
}
