#include "tests/faults/failing_memory.h"

#include <malloc.h>

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <new>

namespace ndfold::test {
namespace {

constexpr long kNever = std::numeric_limits<long>::max();

std::atomic<bool> armed = false;
std::atomic<long> first_failing = kNever, last_failing = kNever, asked = 0, failed = 0, blocks = 0;

}  // namespace

void FailingMemory::arm(long failing, Mode mode) {
  asked = 0, failed = 0;
  first_failing = failing > 0 ? failing : kNever;
  last_failing = mode == Mode::transient ? first_failing.load() : kNever;
  armed = true;
}

void FailingMemory::disarm() { armed = false; }
long FailingMemory::calls() { return asked; }
long FailingMemory::failures() { return failed; }
long FailingMemory::living() { return blocks; }
void FailingMemory::born() { ++blocks; }
void FailingMemory::died() { --blocks; }

bool FailingMemory::next_fails() {
  if (!armed) return false;
  const long number = ++asked;
  const bool fails = number >= first_failing && number <= last_failing && number != kNever;
  if (fails) ++failed;
  return fails;
}

}  // namespace ndfold::test

namespace {

using ndfold::test::FailingMemory;

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (FailingMemory::next_fails()) return nullptr;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes == 0 ? 1 : bytes) != 0) return nullptr;
  FailingMemory::born();
  return memory;
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  if (void* memory = allocate(bytes, alignment)) return memory;
  throw std::bad_alloc();
}

void release(void* memory) noexcept {
  if (memory != nullptr) FailingMemory::died();
  std::free(memory);
}

constexpr std::size_t kUsual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

// The replaceable functions, all of them: [new.delete] of the C++ standard.
void* operator new(std::size_t n) { return allocate_or_throw(n, kUsual); }
void* operator new[](std::size_t n) { return allocate_or_throw(n, kUsual); }
void* operator new(std::size_t n, std::align_val_t a) { return allocate_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return allocate_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, kUsual); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, kUsual); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate(n, static_cast<std::size_t>(a));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { release(memory); }

// Workspaces come from here and go back through free(): counted as asked for, not as living.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  if (FailingMemory::next_fails()) return nullptr;
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}
