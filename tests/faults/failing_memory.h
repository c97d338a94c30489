// Memory that runs out on demand: operator new and aligned_alloc of the whole process, counted and made to fail.
#pragma once
#include <atomic>
#include <cstddef>

namespace ndfold::test {

/// One switch for the process; off unless a test arms it.
class FailingMemory {
 public:
  enum class Mode { transient /* only the N-th allocation fails */, persistent /* and all that follow */ };

  static void arm(long failing, Mode mode);  ///< counts from 1; 0: fails none, only counts
  static void disarm();

  static long calls();       ///< allocations asked for since arm()
  static long failures();    ///< how many of them failed
  static long living();      ///< blocks allocated and not yet freed
  static bool next_fails();  ///< for the allocation functions themselves
  static void born();
  static void died();
};

/// Arms for one scope.
class Failing {
 public:
  explicit Failing(long failing, FailingMemory::Mode mode = FailingMemory::Mode::transient) {
    FailingMemory::arm(failing, mode);
  }
  ~Failing() { FailingMemory::disarm(); }
  Failing(const Failing&) = delete;
  Failing& operator=(const Failing&) = delete;
};

}  // namespace ndfold::test
