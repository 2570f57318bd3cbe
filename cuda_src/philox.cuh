// Philox 4x32-10, the random numbers of geeps_caffe/device/philox.py.
#pragma once
#include "common.cuh"

struct Block4 {
  unsigned word[4];
};

// Four random words for a counter (block, record, iteration, layer) and a key.
__device__ inline Block4 philox(unsigned block, unsigned record,
                                       unsigned iteration, unsigned layer,
                                       unsigned key0, unsigned key1) {
  unsigned c0 = block, c1 = record, c2 = iteration, c3 = layer;
  for (int round = 0; round < 10; ++round) {
    unsigned long long p0 = (unsigned long long)c0 * 0xD2511F53u;
    unsigned long long p1 = (unsigned long long)c2 * 0xCD9E8D57u;
    c0 = (unsigned)(p1 >> 32) ^ c1 ^ key0;
    c2 = (unsigned)(p0 >> 32) ^ c3 ^ key1;
    c1 = (unsigned)p1;
    c3 = (unsigned)p0;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}
