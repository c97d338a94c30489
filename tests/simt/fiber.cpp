#include "tests/simt/fiber.h"

#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#define SIMT_TELLS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_TELLS_SANITIZER 1
#endif
#endif
#ifdef SIMT_TELLS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace simt {
namespace {

Context* switched_from = nullptr;

void tell_start([[maybe_unused]] Context& from, [[maybe_unused]] const Context& to, [[maybe_unused]] bool leaves) {
#ifdef SIMT_TELLS_SANITIZER
  __sanitizer_start_switch_fiber(leaves ? nullptr : &from.fake_stack, to.stack_bottom, to.stack_bytes);
#endif
}

// The stack that was left is known only now, when it is the thread's own.
void tell_finish([[maybe_unused]] Context& arrived) {
#ifdef SIMT_TELLS_SANITIZER
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(arrived.fake_stack, &bottom, &bytes);
  if (switched_from->stack_bottom == nullptr) {
    switched_from->stack_bottom = bottom;
    switched_from->stack_bytes = bytes;
  }
#endif
}

// Fibers that ended left their frames as they were.
void forget([[maybe_unused]] void* stack, [[maybe_unused]] std::size_t bytes) {
#ifdef SIMT_TELLS_SANITIZER
  __asan_unpoison_memory_region(stack, bytes);
#endif
}

}  // namespace

#if defined(__x86_64__)

// Saves what a called function must preserve, changes stacks, restores, and returns to where that stack was left.
extern "C" void simt_switch_stack(void** save, void* load);
asm(R"(
.text
.globl simt_switch_stack
.hidden simt_switch_stack
.type simt_switch_stack,@function
simt_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size simt_switch_stack,.-simt_switch_stack
)");

void prepare(Context& fiber, void* stack, std::size_t bytes, void (*entry)()) {
  constexpr std::size_t kSaved = 6;
  forget(stack, bytes);
  fiber = {.stack_bottom = stack, .stack_bytes = bytes};
  auto* top =
      reinterpret_cast<std::uintptr_t*>((reinterpret_cast<std::uintptr_t>(stack) + bytes) & ~std::uintptr_t{15});
  top -= 2;  // a function is entered with its stack 8 bytes off a multiple of 16
  *top = reinterpret_cast<std::uintptr_t>(entry);
  for (std::size_t i = 0; i < kSaved; ++i) *--top = 0;
  fiber.stack_pointer = top;
}

void switch_context(Context& from, Context& to, bool leaves) {
  tell_start(from, to, leaves);
  switched_from = &from;
  simt_switch_stack(&from.stack_pointer, to.stack_pointer);
  tell_finish(from);
}

#else

// Slower, everywhere: a ucontext_t lies at the foot of each stack.
void prepare(Context& fiber, void* stack, std::size_t bytes, void (*entry)()) {
  forget(stack, bytes);
  auto* context = static_cast<ucontext_t*>(stack);
  getcontext(context);
  fiber = {.stack_pointer = context, .stack_bottom = stack, .stack_bytes = bytes};
  context->uc_stack.ss_sp = static_cast<char*>(stack) + sizeof(ucontext_t);
  context->uc_stack.ss_size = bytes - sizeof(ucontext_t);
  context->uc_link = nullptr;
  makecontext(context, entry, 0);
}

void switch_context(Context& from, Context& to, bool leaves) {
  static ucontext_t home;
  if (from.stack_pointer == nullptr) from.stack_pointer = &home;
  tell_start(from, to, leaves);
  switched_from = &from;
  swapcontext(static_cast<ucontext_t*>(from.stack_pointer), static_cast<ucontext_t*>(to.stack_pointer));
  tell_finish(from);
}

#endif

void arrive_first(Context& fiber) { tell_finish(fiber); }

}  // namespace simt
