// Labels as floats: which of them count, and which class they name.
#pragma once
#include "common.cuh"

__device__ inline bool counts(float label, int has_ignored, int ignored) {
  return !(has_ignored && label == label && (int)label == ignored);
}

// -1 where a label names none of the classes.
__device__ inline int class_of(float label, long long classes) {
  return label > -1 && label < classes ? (int)label : -1;
}

// How many of `items` are in a piece of `each`, the last of which may be shorter.
__device__ inline long long size_of(long long piece, long long each,
                                    long long items) {
  long long rest = items - piece * each;
  return rest < each ? rest : each;
}
