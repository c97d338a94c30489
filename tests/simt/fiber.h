// Fibers: stacks that one host thread switches between. A fiber ends by switching away for the last time.
#pragma once
#include <cstddef>

namespace simt {

/// Where a fiber, or the thread that runs them, goes on.
struct Context {
  void* stack_pointer = nullptr;
  void* fake_stack = nullptr;  // of the address sanitizer
  const void* stack_bottom = nullptr;
  std::size_t stack_bytes = 0;
};

/// Makes `fiber` begin with entry() on its own stack; entry never returns.
void prepare(Context& fiber, void* stack, std::size_t bytes, void (*entry)());

/// Goes on with `to`; comes back when something switches to `from`. `leaves`: `from` is never come back to.
void switch_context(Context& from, Context& to, bool leaves = false);

/// The first thing on a new stack.
void arrive_first(Context& from);

}  // namespace simt
