// Dropout with the coins of geeps_caffe/device/philox.py: a function of seed, layer,
// iteration and each record's global index.  Arrays are (records, each).
#include "philox.cuh"

// kept = coin >= dropped; y = x * kept * factor.  A thread for each four elements of
// a record; n is records * ceil(each / 4).  y may be x.
extern "C" __global__ void dropout_forward(
    long long n, const float* x, float* y, unsigned char* kept,
    const long long* records, long long each, unsigned layer,
    unsigned iteration, unsigned key0, unsigned key1, unsigned dropped,
    float factor) {
  long long blocks = (each + 3) / 4;
  GRID_STRIDE_LOOP(i, n) {
    long long record = quotient(i, blocks), block = i - record * blocks;
    Block4 coins = philox((unsigned)block, (unsigned)records[record], iteration,
                          layer, key0, key1);
    for (int k = 0; k < 4 && 4 * block + k < each; ++k) {
      long long at = record * each + 4 * block + k;
      bool keep = coins.word[k] >= dropped;
      kept[at] = keep;
      y[at] = x[at] * (keep ? 1 : 0) * factor;
    }
  }
}

// dx = dy * kept * factor.  dx may be dy.
extern "C" __global__ void dropout_backward(long long n,
                                            const unsigned char* kept,
                                            const float* dy, float* dx,
                                            float factor) {
  GRID_STRIDE_LOOP(i, n) { dx[i] = dy[i] * (kept[i] ? 1 : 0) * factor; }
}
