// Adam.
#include "rules.cuh"

// w -= rate m / (sqrt(v) + delta), the bias correction in rate.  fresh is 1 - keep.
extern "C" __global__ void adam(long long n, float* weights, const float* grad,
                                float* m, float* v, float scale, float decay,
                                int l1, float rate, float keep, float fresh,
                                float keep2, float fresh2, float delta) {
  GRID_STRIDE_LOOP(i, n) {
    float g = regularized(grad[i], weights[i], scale, decay, l1);
    float mean = m[i] * keep + g * fresh;
    float square = v[i] * keep2 + g * g * fresh2;
    m[i] = mean;
    v[i] = square;
    weights[i] -= mean / (sqrtf(square) + delta) * rate;
  }
}
