// First values of arrays.
#include "philox.cuh"

// y = value.
extern "C" __global__ void fill_constant(long long n, float* y, float value) {
  GRID_STRIDE_LOOP(i, n) { y[i] = value; }
}

// y = low + (high - low) * a random number in [0, 1): word i % 4 of Philox block
// i / 4 of record 0.  A thread for each block; n is ceil(size / 4).
extern "C" __global__ void fill_uniform(long long n, float* y, long long size,
                                        float low, float high, unsigned layer,
                                        unsigned iteration, unsigned key0,
                                        unsigned key1) {
  GRID_STRIDE_LOOP(block, n) {
    Block4 words = philox((unsigned)block, 0, iteration, layer, key0, key1);
    for (int k = 0; k < 4 && 4 * block + k < size; ++k) {
      float share = (words.word[k] >> 8) * 5.9604644775390625e-8f;  // 2 ** -24
      y[4 * block + k] = low + (high - low) * share;
    }
  }
}
