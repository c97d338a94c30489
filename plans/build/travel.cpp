#include "plans/build/travel.h"

#include <ndfold/travelling.h>

#include "plans/build/geometry.h"
#include "plans/build/lines.h"
#include "plans/build/steps.h"

#include <algorithm>

namespace ndfold {
namespace {

constexpr int kArchitecture = 90;               // before, rings have two places, and nothing was measured
constexpr Index kSmallestPartBytes = 8 * 1024;  // of a block: less does not pay for its share of the meeting

// Two blocks of a multiprocessor hide each other's waits; one alone has a longer ring, and half as many share a row.
struct Crew {
  int threads;
  Index of_multiprocessor;
};
constexpr Crew kPair{256, 2}, kOne{512, 1};

bool travels(const Problem& problem, const Step& step, const DeviceFacts& device) {
  return device.kind == DeviceKind::cuda && device.architecture >= kArchitecture &&
         problem.kind == RequestKind::softmax && step.kernel.body == Body::rows && has_many_kernels(problem) &&
         problem.accumulate == DType::f32 && size_bytes(problem.input) <= 4 &&
         device.threads_per_block >= kOne.threads && problem.axes.reduced_elements() < Index{1} << 30 &&
         has_whole_lines(problem, device);
}

// Of a row wherever it begins: parts begin at lines of memory.
struct Lines {
  Index elements = 1, count = 1;
};

Lines lines_of(const Problem& problem) {
  const Index element = static_cast<Index>(size_bytes(problem.input)), pack = 16 / element;
  const Index line = kTravellingLineBytes / element;
  const auto begins_a_line = [&](const Axis& axis) { return axis.in % line == 0; };
  const bool all = std::all_of(problem.axes.kept.begin(), problem.axes.kept.end(), begins_a_line);
  return {line, ceil_divide(problem.axes.reduced_elements() + (all ? 0 : line - pack), line)};
}

Journey with(const Crew& crew, const Lines& lines, Index rows, const DeviceFacts& device) {
  const Index batch = batch_bytes(crew.threads), resident = crew.of_multiprocessor * device.multiprocessors;
  const Index places = std::min(shared_bytes_for(crew.of_multiprocessor, device) / batch, kMostPlacesOfRing);
  if (places < 1) return {};
  const auto blocks_with = [&](Index batches) {  // 0: too many
    const Index blocks = ceil_divide(lines.count, batches * batch / kTravellingLineBytes);
    return blocks <= resident ? blocks : 0;
  };
  // Rows that are on the chip all at once need no ring: the tiles of meeting.h take 16.9 us for one of 2^22 elements,
  // rows that travel 18.4; 4 of 2^20 16.4 and 17.2.
  if (const Index blocks = blocks_with(places); blocks == 0 || blocks * rows <= resident) return {};
  Index needed = 0;
  for (Index batches = std::max<Index>(1, (places - 1) / 2); batches <= places && needed == 0; ++batches)
    needed = blocks_with(batches);
  if (needed == 0) return {};
  Journey journey{.threads = crew.threads};
  journey.groups = std::min(rows, resident / needed);
  const Index useful = std::max<Index>(1, lines.count * kTravellingLineBytes / kSmallestPartBytes);
  journey.parts = std::clamp(resident / journey.groups, needed, std::max(needed, useful));
  const Index part = ceil_divide(lines.count, journey.parts);
  journey.part = part * lines.elements;
  journey.parts = ceil_divide(lines.count, part);
  journey.groups = std::min(rows, resident / journey.parts);
  journey.shared_bytes = places * batch;
  return journey;
}

}  // namespace

Journey journey_of(const Problem& problem, const Step& step, const DeviceFacts& device) {
  if (!travels(problem, step, device)) return {};
  const Lines lines = lines_of(problem);
  const Index rows = step.launch.grid[1];
  const Journey pair = with(kPair, lines, rows, device);
  if (pair.threads != 0 && pair.parts <= device.multiprocessors) return pair;
  const Journey one = with(kOne, lines, rows, device);
  return one.threads != 0 ? one : pair;
}

}  // namespace ndfold
