// Rows of a table by their numbers.
#include "common.cuh"

// rows[i] = table[index[i]]; n is indices * width.
extern "C" __global__ void gather_rows(long long n, const float* table,
                                       const long long* index, float* rows,
                                       long long width) {
  GRID_STRIDE_LOOP(i, n) {
    long long row = quotient(i, width);
    rows[i] = table[index[row] * width + (i - row * width)];
  }
}

// table[index[i]] = the sum of rows[i] over all i with that index, in the order of i, so
// that every run adds alike.  `order` sorts the index, equal ones in their order; n is
// indices * width.  Rows of the table that nothing names stay as they are.
extern "C" __global__ void scatter_add_rows(long long n, const float* rows,
                                            const long long* index,
                                            const long long* order,
                                            float* table, long long indices,
                                            long long width) {
  GRID_STRIDE_LOOP(i, n) {
    long long place = quotient(i, width), column = i - place * width;
    long long row = index[order[place]];
    if (place > 0 && index[order[place - 1]] == row) continue;
    float total = 0;
    for (long long k = place; k < indices && index[order[k]] == row; ++k)
      total += rows[order[k] * width + column];
    table[row * width + column] = total;
  }
}
