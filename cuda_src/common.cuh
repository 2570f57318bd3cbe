// What all kernels share: the two loops, division of indices, and block reductions.
// No system headers: NVRTC has none.  float32, C order, 64-bit indices.
#pragma once

#define LARGEST_FLOAT 3.402823466e+38f
#define LEAST_NORMAL_FLOAT 1.175494351e-38f

// One thread an element; right for any n and any number of blocks.
#define GRID_STRIDE_LOOP(i, n)                                              \
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;      \
       i < (n); i += (long long)gridDim.x * blockDim.x)

// One block an item; all threads of the block make the same turns.
#define BLOCK_LOOP(item, n) \
  for (long long item = blockIdx.x; item < (n); item += gridDim.x)

// The threads of a block share the elements of its item.
#define THREAD_LOOP(i, n) \
  for (long long i = threadIdx.x; i < (n); i += blockDim.x)

// a / b for a >= 0, b > 0.  32-bit division is several times faster on a GPU.
__device__ inline long long quotient(long long a, long long b) {
  if (((a | b) >> 32) == 0) return (unsigned)a / (unsigned)b;
  return a / b;
}

// An index taken apart as (outer, middle, inner).
struct Place {
  long long outer;
  long long middle;
  long long inner;
};

__device__ inline Place place_of(long long i, long long middle,
                                        long long inner) {
  long long rest = quotient(i, inner);
  long long outer = quotient(rest, middle);
  return {outer, rest - outer * middle, i - rest * inner};
}

struct Add {
  template <typename Value>
  static __device__ inline Value of(Value a, Value b) { return a + b; }
};

struct Greater {
  template <typename Value>
  static __device__ inline Value of(Value a, Value b) { return a > b ? a : b; }
};

// The values of all threads of the block, combined in a fixed order; every thread
// gets the result.  At most 1024 threads, all of which must call it.
template <typename Combine, typename Value>
__device__ inline Value block_combine(Value value) {
  __shared__ Value values[1024];
  __shared__ Value firsts[32];
  int thread = threadIdx.x, threads = blockDim.x;
  values[thread] = value;
  __syncthreads();
  if (thread < 32 && thread < threads) {
    Value mine = values[thread];
    for (int other = thread + 32; other < threads; other += 32)
      mine = Combine::of(mine, values[other]);
    firsts[thread] = mine;
  }
  __syncthreads();
  Value all = firsts[0];
  for (int other = 1; other < 32 && other < threads; ++other)
    all = Combine::of(all, firsts[other]);
  __syncthreads();
  return all;
}

__device__ inline float block_sum(float value) {
  return block_combine<Add>(value);
}

__device__ inline double block_sum(double value) {
  return block_combine<Add>(value);
}

__device__ inline float block_max(float value) {
  return block_combine<Greater>(value);
}
