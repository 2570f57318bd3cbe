// Element-wise functions.  y may be x, and dx may be dy: layers run in place.
#include "common.cuh"

// y = x < 0 ? alpha * x : x; 0 where alpha is 0.
extern "C" __global__ void relu_forward(long long n, const float* x, float* y,
                                        float alpha) {
  GRID_STRIDE_LOOP(i, n) {
    float value = x[i];
    y[i] = value < 0 ? (alpha == 0 ? 0 : alpha * value) : value;
  }
}

// dx = y > 0 ? dy : alpha * dy, for alpha >= 0.
extern "C" __global__ void relu_backward(long long n, const float* y,
                                         const float* dy, float* dx,
                                         float alpha) {
  GRID_STRIDE_LOOP(i, n) { dx[i] = y[i] > 0 ? dy[i] : alpha * dy[i]; }
}

// positive = x > 0: what a negative alpha makes unreadable from y.
extern "C" __global__ void positive(long long n, const float* x,
                                    unsigned char* positive) {
  GRID_STRIDE_LOOP(i, n) { positive[i] = x[i] > 0; }
}

// dx = positive ? dy : alpha * dy.
extern "C" __global__ void relu_backward_saved(long long n,
                                               const unsigned char* positive,
                                               const float* dy, float* dx,
                                               float alpha) {
  GRID_STRIDE_LOOP(i, n) { dx[i] = positive[i] ? dy[i] : alpha * dy[i]; }
}

// y = x > 0 ? x : alpha * (exp(x) - 1).
extern "C" __global__ void elu_forward(long long n, const float* x, float* y,
                                       float alpha) {
  GRID_STRIDE_LOOP(i, n) {
    float value = x[i];
    y[i] = value > 0 ? value : alpha * expm1f(value);
  }
}

// dx = y > 0 ? dy : dy * (y + alpha), for alpha >= 0.
extern "C" __global__ void elu_backward(long long n, const float* y,
                                        const float* dy, float* dx,
                                        float alpha) {
  GRID_STRIDE_LOOP(i, n) { dx[i] = y[i] > 0 ? dy[i] : dy[i] * (y[i] + alpha); }
}

// dx = positive ? dy : dy * (y + alpha).
extern "C" __global__ void elu_backward_saved(long long n,
                                              const unsigned char* positive,
                                              const float* y, const float* dy,
                                              float* dx, float alpha) {
  GRID_STRIDE_LOOP(i, n) {
    dx[i] = positive[i] ? dy[i] : dy[i] * (y[i] + alpha);
  }
}

// y = 1 / (1 + exp(-x)), which can't overflow when written with tanh.
extern "C" __global__ void sigmoid_forward(long long n, const float* x,
                                           float* y) {
  GRID_STRIDE_LOOP(i, n) { y[i] = 0.5f * tanhf(0.5f * x[i]) + 0.5f; }
}

// dx = dy * y * (1 - y).
extern "C" __global__ void sigmoid_backward(long long n, const float* y,
                                            const float* dy, float* dx) {
  GRID_STRIDE_LOOP(i, n) { dx[i] = dy[i] * (y[i] * (1 - y[i])); }
}

// y = tanh(x).
extern "C" __global__ void tanh_forward(long long n, const float* x, float* y) {
  GRID_STRIDE_LOOP(i, n) { y[i] = tanhf(x[i]); }
}

// dx = dy * (1 - y * y).
extern "C" __global__ void tanh_backward(long long n, const float* y,
                                         const float* dy, float* dx) {
  GRID_STRIDE_LOOP(i, n) { dx[i] = dy[i] * (1 - y[i] * y[i]); }
}
