// What Accuracy counts: scores (outer, classes, inner), labels, as floats, (outer,
// inner).  A rank is the number of scores that are no worse than the label's own.
#include "labels.cuh"

// The rank of an item from what was counted: classes + 1 where its own score is nan, 0
// where it doesn't count, -1 where its label names no class.
__device__ inline float rank_of(float label, float own, float rank,
                                long long classes, int has_ignored,
                                int ignored) {
  if (!counts(label, has_ignored, ignored)) return 0;
  if (class_of(label, classes) < 0) return -1;
  return own == own ? rank : classes + 1;
}

// A block for each of n items (inner is 1).
extern "C" __global__ void label_ranks_rows(long long n, const float* scores,
                                            const float* labels, float* ranks,
                                            long long classes, int has_ignored,
                                            int ignored) {
  BLOCK_LOOP(i, n) {
    int label = class_of(labels[i], classes);
    float own = scores[i * classes + (label < 0 ? 0 : label)], rank = 0;
    THREAD_LOOP(c, classes) { rank += scores[i * classes + c] >= own ? 1 : 0; }
    rank = block_sum(rank);
    if (threadIdx.x == 0)
      ranks[i] = rank_of(labels[i], own, rank, classes, has_ignored, ignored);
  }
}

// The same with a thread for each item.
extern "C" __global__ void label_ranks(long long n, const float* scores,
                                       const float* labels, float* ranks,
                                       long long classes, long long inner,
                                       int has_ignored, int ignored) {
  GRID_STRIDE_LOOP(i, n) {
    long long outer = quotient(i, inner);
    const float* item = scores + outer * classes * inner + (i - outer * inner);
    int label = class_of(labels[i], classes);
    float own = item[(label < 0 ? 0 : label) * inner], rank = 0;
    for (long long c = 0; c < classes; ++c)
      rank += item[c * inner] >= own ? 1 : 0;
    ranks[i] = rank_of(labels[i], own, rank, classes, has_ignored, ignored);
  }
}

// For each of n pieces of `each` items three sums: ranks of at most top_k, items that
// count, and labels that name no class.
extern "C" __global__ void count_hits(long long n, const float* ranks,
                                      float* sums, long long items,
                                      long long each, int top_k) {
  BLOCK_LOOP(piece, n) {
    float hits = 0, counted = 0, wrong = 0;
    THREAD_LOOP(k, size_of(piece, each, items)) {
      float rank = ranks[piece * each + k];
      hits += rank > 0 && rank <= top_k ? 1 : 0;
      counted += rank > 0 ? 1 : 0;
      wrong += rank < 0 ? 1 : 0;
    }
    hits = block_sum(hits);
    counted = block_sum(counted);
    wrong = block_sum(wrong);
    if (threadIdx.x == 0) {
      sums[3 * piece] = hits;
      sums[3 * piece + 1] = counted;
      sums[3 * piece + 2] = wrong;
    }
  }
}
