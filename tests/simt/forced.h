// One case of the matrix: a request on a device, forced by name, judged and counted.
#pragma once
#include "tests/simt/simulate.h"
#include "tests/support/strategies.h"

#include <gtest/gtest.h>

#include <map>

namespace simt {

using namespace ndfold;
using namespace ndfold::test;

/// A GPU small enough that a few tiles keep it busy, so that groups of blocks take several turns.
inline DeviceFacts small(DeviceFacts device, int multiprocessors) {
  device.multiprocessors = multiprocessors;
  return device;
}

/// The same without a cache, so that a few thousand elements are more than it keeps.
inline DeviceFacts without_cache(int multiprocessors) {
  DeviceFacts device = small(DeviceFacts::h200(), multiprocessors);
  device.cache_bytes = 0;
  return device;
}

/// The same with so little shared memory that tiles of a few thousand elements need several blocks.
inline DeviceFacts tight(int multiprocessors) {
  DeviceFacts device = small(DeviceFacts::h200(), multiprocessors);
  device.shared_bytes_per_multiprocessor = 32 * 1024;
  device.shared_bytes_per_block = 31 * 1024;
  return device;
}

struct Tally {
  std::map<std::string, int> strategies;
  int whole_packs = 0, cut_lines = 0, cut_runs = 0, sectors = 0, elements = 0;
  Real worst = 0;
};

/// Counts a run, and fails the test when anything is wrong.
inline void count(const Judged& run, Tally& tally) {
  EXPECT_EQ(run.failure, "");
  ++tally.strategies[run.strategy];
  tally.whole_packs += run.whole_packs;
  tally.cut_lines += run.cut_lines;
  tally.cut_runs += run.cut_runs;
  tally.sectors += run.sectors;
  tally.elements += run.elements;
  tally.worst = std::max(tally.worst, run.worst);
}

/// Runs the request if the strategy may, and counts it.
inline void run_forced(const AnyRequest& request, Array& in, Array& out, const DeviceFacts& device,
                       const std::string& strategy, Tally& tally, std::uint64_t seed = 1) {
  const Judged run = simulate(request, in, out, {.device = device, .strategy = strategy}, {.seed = seed});
  if (!run.refused) count(run, tally);
}

/// What the buffers of a softmax are like, and by how many elements they begin behind a whole pack.
struct SoftmaxBuffers {
  DType type = DType::f32;
  Layout in = Layout::row_major, out = Layout::row_major;
  Index in_shift = 0, out_shift = 0;
};

/// A softmax on two multiprocessors.
inline void softmax(const Sizes& sizes, const SoftmaxSpec& spec, const char* strategy, const SoftmaxBuffers& of,
                    Tally& tally) {
  SCOPED_TRACE(::testing::Message() << name(of.type) << ' ' << ::testing::PrintToString(sizes) << ' ' << strategy);
  Array in(lay_out(of.type, sizes, of.in, 5), of.in_shift), out(lay_out(of.type, sizes, of.out, 3), of.out_shift);
  fill(in, Values::mixed);
  run_forced(spec, in, out, small(DeviceFacts::h200(), 2), strategy, tally);
}

}  // namespace simt
