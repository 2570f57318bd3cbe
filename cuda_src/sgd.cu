// Stochastic gradient descent with momentum.
#include "rules.cuh"

// h = momentum h + rate g;  w -= h.
extern "C" __global__ void sgd(long long n, float* weights, const float* grad,
                               float* history, float scale, float decay,
                               int l1, float rate, float momentum) {
  GRID_STRIDE_LOOP(i, n) {
    float g = regularized(grad[i], weights[i], scale, decay, l1);
    float h = history[i] * momentum + g * rate;
    history[i] = h;
    weights[i] -= h;
  }
}
