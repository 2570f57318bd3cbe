// Nesterov's accelerated gradient.
#include "rules.cuh"

// h' = momentum h + rate g;  w -= (1 + momentum) h' - momentum h.  ahead is
// 1 + momentum.
extern "C" __global__ void nesterov(long long n, float* weights, const float* grad,
                                    float* history, float scale, float decay,
                                    int l1, float rate, float momentum,
                                    float ahead) {
  GRID_STRIDE_LOOP(i, n) {
    float g = regularized(grad[i], weights[i], scale, decay, l1);
    float old = history[i] * momentum;
    float h = old + g * rate;
    history[i] = h;
    weights[i] -= h * ahead - old;
  }
}
