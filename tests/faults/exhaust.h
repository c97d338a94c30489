// Fails the 1st, 2nd, 3rd … allocation of a call until it succeeds: the loop that SQLite's tests call an anomaly test.
#pragma once
#include <ndfold/status.h>

#include "tests/faults/failing_memory.h"

#include <gtest/gtest.h>

#include <optional>

namespace ndfold::test {

using Mode = FailingMemory::Mode;

inline constexpr Mode kModes[] = {Mode::transient, Mode::persistent};
inline constexpr long kMostAllocations = 20000;  // of one call: more means that it never succeeds

/// What came of a call some of whose allocations may have failed.
struct Fate {
  std::optional<Code> code;  ///< nothing when an exception escaped
  long failures = 0;
};

/// `call` returns a Code, and allocates nothing but through ndfold.
template <class Call>
Fate fate_of(long failing, Mode mode, const Call& call) {
  Fate fate;
  const Failing scope(failing, mode);
  try {
    fate.code = call();
  } catch (...) {
  }
  fate.failures = FailingMemory::failures();
  return fate;
}

/// `check` is called with the Code that each call gave, and makes things as they were before it.
template <class Call, class Check>
void exhaust(const Call& call, const Check& check) {
  for (const Mode mode : kModes) {
    SCOPED_TRACE(mode == Mode::transient ? "one allocation fails" : "all further allocations fail");
    for (long failing = 1;; ++failing) {
      SCOPED_TRACE("from allocation " + std::to_string(failing) + " on");
      const long living = FailingMemory::living();
      const Fate fate = fate_of(failing, mode, call);
      ASSERT_TRUE(fate.code.has_value()) << "an exception crossed the API";
      ASSERT_TRUE(*fate.code == Code::ok || (*fate.code == Code::out_of_memory && fate.failures > 0))
          << name(*fate.code);
      EXPECT_TRUE(*fate.code == Code::ok || FailingMemory::living() == living) << "memory leaked";
      ASSERT_NO_FATAL_FAILURE(check(*fate.code));
      ASSERT_FALSE(::testing::Test::HasFailure());
      if (fate.failures == 0) {
        EXPECT_GT(failing, 1) << "nothing was made to fail";
        break;
      }
      ASSERT_LT(failing, kMostAllocations);
    }
  }
}

template <class Call>
void exhaust(const Call& call) {
  exhaust(call, [](Code) {});
}

}  // namespace ndfold::test
