// AdaGrad.
#include "rules.cuh"

// h += g^2;  w -= rate g / (sqrt(h) + delta).
extern "C" __global__ void adagrad(long long n, float* weights, const float* grad,
                                   float* history, float scale, float decay,
                                   int l1, float rate, float delta) {
  GRID_STRIDE_LOOP(i, n) {
    float g = regularized(grad[i], weights[i], scale, decay, l1);
    float h = history[i] + g * g;
    history[i] = h;
    weights[i] -= g / (sqrtf(h) + delta) * rate;
  }
}
