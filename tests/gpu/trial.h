// A list of requests that run on the device, eager and captured, and are judged by the reference and by a witness.
#pragma once
#include "tests/gpu/machine.h"
#include "tests/support/compare.h"

#include <map>

namespace ndfold::test {

/// Changes the data that a trial was filled with.
using Touch = std::function<void(Array& in, std::uint64_t seed)>;

/// One request, and the data it gets.
struct Trial {
  std::string name = {};
  AnyRequest request = {};
  ViewDesc in = {}, out = {};
  Index in_shift = 0, out_shift = 0;  ///< elements by which element 0 misses a line of memory
  bool in_place = false;              ///< a softmax whose output is its input
  Values values = Values::mixed;
  Touch touch = {};
  std::string strategy = {};     ///< forced; where it cannot do the request the trial counts as refused
  std::string witness = {};      ///< a strategy of the device; empty: the CPU back end
  DeviceFacts device = facts();  ///< may have fewer multiprocessors and less shared memory than there is
  int replays = 3;               ///< of the captured run, each with new data; 0: eager only
};

struct Tally {
  int run = 0, refused = 0;
  std::map<std::string, int> strategies;
  Real worst = 0;  ///< error / bound
};

/// Runs every trial: captured before anything else ran, eager, and eager once more with the last replay's data, which
/// must give its bits. Inputs, gaps, margins and the workspace's end must stay as they were. Fails the test otherwise.
Tally expect_right(const std::vector<Trial>& trials);

/// As properties of the test's report.
void record(const Tally& tally);

/// The axes of a trial's name.
std::string text(const AxisSet& axes);

/// Skips the test where there is no device.
class OnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!absence().empty()) GTEST_SKIP() << absence();
  }
};

}  // namespace ndfold::test
