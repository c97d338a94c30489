#include "plans/build/long_lines.h"

#include "plans/build/lines.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ndfold {
namespace {

constexpr int kFewLoads = 4, kManyLoads = 8;
constexpr Index kFewThreads = 512;  // of a multiprocessor: too few to divide their loads among more

// The likelier way first, and what else it costs, as a factor. Powers of 16 bits wait less in more threads of half the
// loads: logsumexp bf16 of [523,128256] 42 us and 53, of [3355,20000] 45 and 51; moments of f32 where more of the last
// batch is there: var of [3355,20000] 68 and 75, of [4096,16384] 67 and 62.
struct Way {
  LaneLoads of;
  double time = 1;
};

std::vector<Way> ways(const Problem& problem, const DeviceFacts& device) {
  constexpr double kMoreBatches = 1.03;
  const bool half = size_bytes(problem.input) == 2, powers = problem.fold == FoldKind::logsumexp;
  if (folds_an_index(problem.fold)) return {{{has_whole_lines(problem, device) ? 1024 : 512, kManyLoads}}};
  if (powers && half) return {{{1024, kFewLoads}}};
  if (powers || !looks_twice(problem.fold)) return {{{768, kManyLoads}}};
  if (half) return {{{512, kManyLoads}}};
  return {{{768, kManyLoads}}, {{1024, kFewLoads}, kMoreBatches}};
}

// How much longer than they need blocks of so many threads take: for loads of a last batch that are not there, to begin
// and to end, and where multiprocessors have blocks for a part of their time, or too few. Two looks keep a
// multiprocessor busy with fewer. Fitted to 512 lines and more of 10 000 to 128 256 elements,
// docs/measurements/gpu-history.md#several-axes-and-long-lines.
double time_of(Index packs, Index threads, const Step& step, const LaneLoads& of, const DeviceFacts& device) {
  constexpr double kOfLastBatch = 0.6, kOfLastWave = 0.15, kFew = 128, kOfOneWave = 0.05;
  const bool twice = looks_twice(step.kernel.fold), half = size_bytes(step.kernel.input) == 2;
  const Index batch = threads * of.loads, count = ceil_divide(packs, batch);
  const double batches = static_cast<double>(count), loaded = batches * static_cast<double>(batch);
  const double each = static_cast<double>(elements(step.kept) * threads) / device.multiprocessors;
  const double waves = each / static_cast<double>(of.threads / threads * threads), few = kFew / each;
  const double rest = waves <= 1 ? 0 : (std::ceil(waves) - waves) / waves;
  const double of_block = twice ? (half ? 0.25 : 0.1) / batches : (half ? 0.5 : 0.1) / (batches * batches);
  const double of_few = (twice ? 0.65 : 1.3) * few * few, of_wave = !twice && waves <= 1 ? kOfOneWave : 0;
  return std::pow(loaded / static_cast<double>(packs), kOfLastBatch) * (1 + kOfLastWave * rest) * (1 + of_block) *
         (1 + of_few) * (1 + of_wave);
}

}  // namespace

LaneLoads loads_of_long_lines(const Problem& problem, const DeviceFacts& device) {
  return ways(problem, device).front().of;
}

// With half of the lanes that a batch has a row of 1025 f32 took 1.4 times what one of 2047 did.
void fit_line(Step& step, const Problem& problem, const DeviceFacts& device) {
  constexpr double kWorthFewer = 0.97;  // of the time that as many threads as may be take
  if (device.kind != DeviceKind::cuda || step.reduced.size() != 1 || step.reduced.back().in != 1) return;
  const Index packs = packs_of_line(problem), most = step.launch.block;
  int& loads = step.kernel.tuning.unroll;
  if (packs <= most * loads) {
    step.launch.block = std::max(threads_of_packs(packs, step.kernel.tuning, device), device.lanes);
    return;
  }
  std::vector<Way> all = {{{kFewThreads, loads}}};
  if (elements(step.kept) * most >= kFewThreads * device.multiprocessors) all = ways(problem, device);
  double least = 0;
  for (const Way& way : all)
    for (Index threads = most; threads >= device.lanes; threads -= device.lanes) {
      const double time =
          way.time * time_of(packs, threads, step, way.of, device) * (threads == most ? kWorthFewer : 1);
      if (least > 0 && time >= least) continue;
      least = time;
      step.launch.block = static_cast<int>(threads);
      loads = way.of.loads;
    }
}

}  // namespace ndfold
