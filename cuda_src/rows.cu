// Rows of a table by an index made once: how the parameter cache is read and updated.
// `index` names the table's row of each row of the buffer; no row twice in one call.
#include "common.cuh"

// rows[i] = table[index[i]]; n is rows * width.
extern "C" __global__ void gather_rows(long long n, const float* table,
                                       const long long* index, float* rows,
                                       long long width) {
  GRID_STRIDE_LOOP(i, n) {
    long long row = quotient(i, width);
    rows[i] = table[index[row] * width + (i - row * width)];
  }
}

// table[index[i]] = rows[i].
extern "C" __global__ void scatter_rows(long long n, const float* rows,
                                        const long long* index, float* table,
                                        long long width) {
  GRID_STRIDE_LOOP(i, n) {
    long long row = quotient(i, width);
    table[index[row] * width + (i - row * width)] = rows[i];
  }
}

// table[index[i]] += factor * rows[i].
extern "C" __global__ void scatter_add_rows(long long n, const float* rows,
                                            const long long* index,
                                            float* table, long long width,
                                            float factor) {
  GRID_STRIDE_LOOP(i, n) {
    long long row = quotient(i, width);
    table[index[row] * width + (i - row * width)] += factor * rows[i];
  }
}
