// A stand-in for the few functions of cuBLAS that we call: each hands its arguments to
// what `hooks` names.  Types are those of cublas_api.h.
#include <cstddef>

struct Hooks {
  int (*create)(void** handle);
  int (*destroy)(void* handle);
  int (*set_stream)(void* handle, void* stream);
  int (*set_workspace)(void* handle, void* workspace, size_t size);
  int (*multiply)(void* handle, int transa, int transb, int m, int n, int k,
                  const float* alpha, const float* A, int lda, long long strideA,
                  const float* B, int ldb, long long strideB, const float* beta,
                  float* C, int ldc, long long strideC, int batchCount);
};

extern "C" {

Hooks hooks;

int cublasCreate_v2(void** handle) { return hooks.create(handle); }

int cublasDestroy_v2(void* handle) { return hooks.destroy(handle); }

int cublasSetStream_v2(void* handle, void* stream) {
  return hooks.set_stream(handle, stream);
}

int cublasSetWorkspace_v2(void* handle, void* workspace, size_t size) {
  return hooks.set_workspace(handle, workspace, size);
}

int cublasSgemm_v2(void* handle, int transa, int transb, int m, int n, int k,
                   const float* alpha, const float* A, int lda, const float* B,
                   int ldb, const float* beta, float* C, int ldc) {
  return hooks.multiply(handle, transa, transb, m, n, k, alpha, A, lda, 0, B, ldb,
                        0, beta, C, ldc, 0, 1);
}

int cublasSgemmStridedBatched(void* handle, int transa, int transb, int m, int n,
                              int k, const float* alpha, const float* A, int lda,
                              long long strideA, const float* B, int ldb,
                              long long strideB, const float* beta, float* C,
                              int ldc, long long strideC, int batchCount) {
  return hooks.multiply(handle, transa, transb, m, n, k, alpha, A, lda, strideA, B,
                        ldb, strideB, beta, C, ldc, strideC, batchCount);
}

}  // extern "C"
