// What Accuracy counts: scores (outer, classes, inner), labels, as floats, (outer,
// inner).
#include "common.cuh"

// hit = at most top_k scores are no worse than the label's own, and counted = 1; 0 and
// 0 where the label is `ignored`.
extern "C" __global__ void accuracy(long long n, const float* scores,
                                    const float* labels, float* hit,
                                    float* counted, long long classes,
                                    long long inner, int top_k, int has_ignored,
                                    int ignored) {
  GRID_STRIDE_LOOP(i, n) {
    long long outer = quotient(i, inner);
    int label = (int)labels[i];
    bool counts = !(has_ignored && label == ignored);
    counted[i] = counts ? 1 : 0;
    hit[i] = 0;
    if (!counts) continue;
    const float* own = scores + outer * classes * inner + (i - outer * inner);
    float score = own[label * inner];
    long long rank = 0;
    for (long long c = 0; c < classes; ++c) rank += own[c * inner] >= score;
    hit[i] = rank <= top_k && score == score ? 1 : 0;
  }
}
