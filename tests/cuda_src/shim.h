// Runs a kernel of cuda_src/ on the host: threads one after the other, or, where the
// kernel has barriers, as fibers that hand over to each other at __syncthreads().  Numbers
// below the least normal one are 0, as on the device.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <xmmintrin.h>

#define __global__ static
#define __device__
#define __forceinline__ inline
#define __shared__ static

namespace host {

struct Index {
  unsigned x = 1, y = 1, z = 1;
};
static Index thread_index, block_index, block_extent, grid_extent;

// Leaves this stack, saving its place in *from, and goes on where `to` was left.
extern "C" void geeps_caffe_switch(void** from, void* to);
#if defined(__x86_64__)
asm(R"(.text
.weak geeps_caffe_switch
.type geeps_caffe_switch,@function
geeps_caffe_switch:
  pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15
  movq %rsp, (%rdi); movq %rsi, %rsp
  popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp
  ret
.size geeps_caffe_switch,.-geeps_caffe_switch
)");
#else
#error "kernels with barriers run on x86-64 hosts alone"
#endif

// The threads of one block that has barriers.
class Block {
 public:
  static constexpr size_t STACK = 64 << 10;

  // Runs `body` once for each thread of the block.
  template <typename Body>
  void run(unsigned threads, Body& body) {
    call_ = [](void* what) { (*static_cast<Body*>(what))(); };
    body_ = &body;
    alive_ = threads;
    arrived_ = 0;
    while (fibers_.size() < threads)
      fibers_.push_back({nullptr, std::malloc(STACK), false});
    count_ = threads;
    for (unsigned i = 0; i < threads; ++i) prepare(fibers_[i]);
    current_ = 0;
    thread_index.x = 0;
    geeps_caffe_switch(&home_, fibers_[0].place);
  }

  // Waits until all threads that still run have come here.
  void barrier() {
    unsigned mine = generation_;
    if (++arrived_ == alive_) release();
    while (generation_ == mine) next();
  }

 private:
  struct Fiber {
    void* place;
    void* stack;
    bool done;
  };

  void prepare(Fiber& fiber) {
    fiber.done = false;
    void** top = reinterpret_cast<void**>(static_cast<char*>(fiber.stack) + STACK);
    *--top = nullptr;  // keeps the stack aligned as a call would
    *--top = reinterpret_cast<void*>(&Block::enter);
    top -= 6;
    std::memset(top, 0, 6 * sizeof(void*));
    fiber.place = top;
  }

  static void enter();

  void release() {
    arrived_ = 0;
    ++generation_;
  }

  void next() {
    unsigned from = current_, to = current_;
    do to = to + 1 == count_ ? 0 : to + 1;
    while (fibers_[to].done && to != from);
    if (to == from) return;
    current_ = to;
    thread_index.x = to;
    geeps_caffe_switch(&fibers_[from].place, fibers_[to].place);
    thread_index.x = current_;
  }

  void finish() {
    fibers_[current_].done = true;
    if (--alive_ && arrived_ == alive_) release();
    if (!alive_) {
      void* gone;
      geeps_caffe_switch(&gone, home_);
    }
    next();
  }

  std::vector<Fiber> fibers_;
  void (*call_)(void*) = nullptr;
  void* body_ = nullptr;
  void* home_ = nullptr;
  unsigned count_ = 0, alive_ = 0, arrived_ = 0, generation_ = 0, current_ = 0;
};

static Block block;

inline void Block::enter() {
  block.call_(block.body_);
  block.finish();
}

// While it lives, results and operands that are not normal are 0.
class Flushing {
 public:
  Flushing() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  ~Flushing() { _mm_setcsr(before_); }

 private:
  unsigned before_;
};

// Blocks `first` to before `last` of a grid, in order.
template <typename Body>
void run_grid(bool barriers, unsigned blocks, unsigned threads, unsigned first,
              unsigned last, Body body) {
  Flushing flushing;
  grid_extent = {blocks, 1, 1};
  block_extent = {threads, 1, 1};
  thread_index = {0, 0, 0};
  for (unsigned b = first; b < last; ++b) {
    block_index = {b, 0, 0};
    if (barriers) {
      block.run(threads, body);
      continue;
    }
    for (unsigned t = 0; t < threads; ++t) {
      thread_index.x = t;
      body();
    }
  }
}

}  // namespace host

#define threadIdx host::thread_index
#define blockIdx host::block_index
#define blockDim host::block_extent
#define gridDim host::grid_extent

static inline void __syncthreads() { host::block.barrier(); }
