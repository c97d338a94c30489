// What the compiler calls at every access to memory when it is told to prepare code for the thread sanitizer. Kernels
// are compiled that way and meet our ledger here instead of that sanitizer's runtime.
#include "tests/simt/machine.h"
#include "tests/simt/memory.h"

#include <cstddef>

namespace simt {

/// The number of the thread that runs, over all blocks; -1 outside a launch.
extern int running_thread;

bool sees_accesses() { return true; }

namespace {

void read(const void* address, std::size_t bytes, bool aligned) {
  if (!is_device_memory(address) || running_thread < 0) return;
  const std::string wrong = ledger().read(running_thread, address, bytes, aligned);
  if (!wrong.empty()) fail(wrong);
}

void write(const void* address, std::size_t bytes, bool aligned) {
  if (!is_device_memory(address) || running_thread < 0) return;
  const std::string wrong = ledger().write(running_thread, address, bytes, aligned);
  if (!wrong.empty()) fail(wrong);
}

}  // namespace
}  // namespace simt

// clang-format off
extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read1(void* a) { simt::read(a, 1, true); }
void __tsan_read2(void* a) { simt::read(a, 2, true); }
void __tsan_read4(void* a) { simt::read(a, 4, true); }
void __tsan_read8(void* a) { simt::read(a, 8, true); }
void __tsan_read16(void* a) { simt::read(a, 16, true); }
void __tsan_write1(void* a) { simt::write(a, 1, true); }
void __tsan_write2(void* a) { simt::write(a, 2, true); }
void __tsan_write4(void* a) { simt::write(a, 4, true); }
void __tsan_write8(void* a) { simt::write(a, 8, true); }
void __tsan_write16(void* a) { simt::write(a, 16, true); }
void __tsan_unaligned_read2(void* a) { simt::read(a, 2, false); }
void __tsan_unaligned_read4(void* a) { simt::read(a, 4, false); }
void __tsan_unaligned_read8(void* a) { simt::read(a, 8, false); }
void __tsan_unaligned_read16(void* a) { simt::read(a, 16, false); }
void __tsan_unaligned_write2(void* a) { simt::write(a, 2, false); }
void __tsan_unaligned_write4(void* a) { simt::write(a, 4, false); }
void __tsan_unaligned_write8(void* a) { simt::write(a, 8, false); }
void __tsan_unaligned_write16(void* a) { simt::write(a, 16, false); }
void __tsan_read_range(void* a, std::size_t bytes) { simt::read(a, bytes, false); }
void __tsan_write_range(void* a, std::size_t bytes) { simt::write(a, bytes, false); }
}
// clang-format on
