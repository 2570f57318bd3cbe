// The random bits of geeps_caffe/device/philox.py: a function of seed, layer,
// iteration and each record's global index.  words is (records, each).
#include "philox.cuh"

// A thread for each four words of a record; n is records * ceil(each / 4).
extern "C" __global__ void random_bits(long long n, unsigned* words,
                                       const long long* records,
                                       long long each, unsigned layer,
                                       unsigned iteration, unsigned key0,
                                       unsigned key1) {
  long long blocks = (each + 3) / 4;
  GRID_STRIDE_LOOP(i, n) {
    long long record = quotient(i, blocks), block = i - record * blocks;
    Block4 drawn = philox((unsigned)block, (unsigned)records[record], iteration,
                          layer, key0, key1);
    for (int k = 0; k < 4 && 4 * block + k < each; ++k)
      words[record * each + 4 * block + k] = drawn.word[k];
  }
}
