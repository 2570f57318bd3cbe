// One step of a plain recurrent layer.  Arrays are (N, size).
#include "common.cuh"

// h = tanh(from the input + from the hidden state before).  h may be either.
extern "C" __global__ void rnn_unit_forward(long long n, const float* input,
                                            const float* recurrent, float* h) {
  GRID_STRIDE_LOOP(i, n) { h[i] = tanhf(input[i] + recurrent[i]); }
}

// The diff of the sum, from those of h that the output and the next step ask for.
// sum_diff may be either.
extern "C" __global__ void rnn_unit_backward(long long n, const float* h,
                                             const float* shown_diff,
                                             const float* later_diff,
                                             float* sum_diff) {
  GRID_STRIDE_LOOP(i, n) {
    sum_diff[i] = (shown_diff[i] + later_diff[i]) * (1 - h[i] * h[i]);
  }
}
