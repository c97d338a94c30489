#include "plans/build/travel.h"

#include <ndfold/travelling.h>

#include "plans/build/geometry.h"
#include "plans/build/lines.h"
#include "plans/build/steps.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace ndfold {
namespace {

constexpr int kArchitecture = 90;               // before, rings have two places, and nothing was measured
constexpr Index kSmallestPartBytes = 8 * 1024;  // of a block: less does not pay for its share of the meeting

// Two blocks of a multiprocessor hide each other's waits; one alone has a longer ring, and half as many share a tile.
// Panels by 64 blocks 0.75 of a copy and 0.72, by 128 0.63 and, by 64 that are alone, 0.73.
struct Crew {
  int threads;
  Index of_multiprocessor;
  int lanes = threads;  // of them that have packs
};
constexpr Crew kPair{256, 2}, kOne{512, 1};
constexpr double kMostOfRow = 1, kMostOfPanel = 0.75;  // blocks of a tile that are pairs, of the multiprocessors

// Of the ring, where a row is longer: one is worked on while others come.
constexpr Index kFewestPlacesOfPassing = 3;

// Of shorter runs each has a place in shared memory for few elements, and a line might lie between two packs.
constexpr Index kShortestRunBytes = 64;

// Side by side, of panels that are on the chip all at once; of others as many as a panel has. [131072,8] axis 0 takes
// 13.6 us for 18.7, [262144,4] as long as before.
constexpr Index kFewestColumns = 8;

bool travels(const Problem& problem, const Step& step, const DeviceFacts& device) {
  const auto &kept = problem.axes.kept, &reduced = problem.axes.reduced;
  const Index element = static_cast<Index>(size_bytes(problem.input));
  const bool suits = device.kind == DeviceKind::cuda && device.architecture >= kArchitecture &&
                     problem.kind == RequestKind::softmax && has_many_kernels(problem) &&
                     problem.accumulate == DType::f32 && element <= 4 && device.threads_per_block >= kOne.threads &&
                     !reduced.empty() && problem.axes.reduced_elements() < Index{1} << 30 &&
                     (element == 4 || travels_in_packs(step));
  if (suits && travels_joined(step)) return elements(step.reduced) * step.kept.back().size < Index{1} << 30;
  if (!suits || step.kernel.body == Body::rows) return suits && reduced.back().size * element >= kShortestRunBytes;
  const bool panels = step.kernel.tuning.panel_bytes == kTravellingLineBytes || travels_by_sectors(step);
  return panels && !kept.empty() && kept.back().size >= kFewestColumns;
}

// Of a tile, of so many reduced elements each. A row may begin anywhere: parts begin at lines of memory. Of a row in
// runs, or of rows of a panel along several axes, kernels look up where each begins. Of rows that are joined as many as
// are whole lines of memory together.
struct Lines {
  Index elements = 1, count = 1;
  Index of_run = 0;  // reduced elements; 0: nothing is looked up
  Index bytes = kTravellingLineBytes;
};

// Elements that may lie between a line of memory and where a tile begins: one of `axes` leads from tile to tile.
Index most_before(std::span<const Axis> axes, Index line) {
  Index unit = line;
  for (const Axis& axis : axes) unit = std::gcd(unit, axis.in);
  return line - unit;
}

Lines lines_of_joined(const Step& step) {
  const Index element = static_cast<Index>(size_bytes(step.kernel.input)), line = kTravellingLineBytes / element;
  const Index columns = step.kept.back().size, rows = line / std::gcd(line, columns);
  const Index before = most_before(std::span(step.kept).first(step.kept.size() - 1), line);
  return {rows, ceil_divide(elements(step.reduced) * columns + before, rows * columns), 0, rows * columns * element};
}

Lines lines_of(const Problem& problem, const Step& step) {
  if (travels_joined(step)) return lines_of_joined(step);
  const Index reduced = problem.axes.reduced_elements();
  const bool several = problem.axes.reduced.size() > 1;
  if (step.kernel.body == Body::columns)
    return {1, reduced, several ? 1 : 0, travelling_columns(step) * static_cast<Index>(size_bytes(problem.input))};
  const Axis& run = problem.axes.reduced.back();
  const Index line = kTravellingLineBytes / static_cast<Index>(size_bytes(problem.input));
  const Index before = several || run.in != 1 ? 0 : most_before(problem.axes.kept, line);
  return {line, ceil_divide(reduced + before, line), several ? run.size : 0};
}

// Shared by so many blocks, a tile has a part of so many lines each: whole warps' packs. `places`: of the ring for it.
struct Share {
  Index parts = 0, lines = 0, places = 0;
  Batches batches{};
};

Share share_of(Index parts, const Crew& crew, const Lines& lines, Index room) {
  constexpr Index kLinesOfWarp = 4;
  const Index unit = lines.bytes > kTravellingLineBytes ? 1 : kLinesOfWarp;
  const Index part = ceil_divide(ceil_divide(lines.count, parts), unit) * unit;
  Share share{.parts = ceil_divide(lines.count, part), .lines = part};
  share.batches = batches_of(part * lines.bytes, crew.lanes);
  if (lines.of_run > 0) room -= travelling_table_bytes(part * lines.elements, lines.of_run);
  share.places = std::min(room / batch_bytes(crew.threads, share.batches.loads), kMostPlacesOfRing);
  return share;
}

// A row that is longer than all rings together, by all blocks: what has no room is read again. Panels are faster in two
// launches: [262144,256] and [1048576,64] axis 0 0.58 and 0.57 of a copy, and 0.55 and 0.56 so.
Journey past_the_rings(const Crew& crew, const Lines& lines, Index room, Index resident) {
  const Share share = share_of(resident, crew, lines, room);
  if (share.places < kFewestPlacesOfPassing) return {};
  return {.threads = crew.threads,
          .part = share.lines * lines.elements,
          .parts = share.parts,
          .groups = 1,
          .shared_bytes = share.places * batch_bytes(crew.threads, share.batches.loads)};
}

// All blocks of a tile read the words of all, of each column: more take longer than fewer blocks do.
Index most_that_meet(Index columns) {
  constexpr Index kMostExchangeBytes = 8 << 20;
  Index blocks = 1;
  while ((blocks + 1) * (blocks + 1) * columns * kWordBytes <= kMostExchangeBytes) ++blocks;
  return blocks;
}

Journey with(const Crew& crew, const Lines& lines, const Step& step, const DeviceFacts& device) {
  const Index resident = crew.of_multiprocessor * device.multiprocessors, tiles = step.launch.grid[1];
  const int columns = travelling_columns(step);
  const bool joined = travels_joined(step), panels = columns > 1 && !joined;
  const Index before = travelling_bytes_before(step, crew.threads, static_cast<int>(pack_of(step.kernel.input)));
  const Index beyond = std::max<Index>(0, before - kExchangeBytes);
  const Index room = shared_bytes_for(crew.of_multiprocessor, device) - beyond;
  if (room < batch_bytes(crew.threads, kTravellingLoads)) return {};  // of so short rings nothing was measured
  const auto fewest = [&](const auto& is_enough) {                    // parts; none: 0
    for (Index parts = 1; parts <= resident; ++parts)
      if (const Share share = share_of(parts, crew, lines, room); share.places > 0 && is_enough(share)) return share;
    return Share{};
  };
  // Rows that are on the chip all at once need no ring: the tiles of meeting.h take 16.9 us for one of 2^22 elements,
  // rows that travel 18.4; 4 of 2^20 16.4 and 17.2. Panels do: [32768,32] axis 0 16.9 and 12.2, [16384,128] 20.6
  // and 13.3.
  const Index least = fewest([](const Share& share) { return share.batches.count <= share.places; }).parts;
  if (least == 0) return panels ? Journey{} : past_the_rings(crew, lines, room, resident);
  const bool all_at_once = least * tiles <= resident;
  if (!joined && (panels ? !all_at_once && step.kept.back().size < columns : all_at_once)) return {};
  // A row waits for its numbers while the next is folded and one more batch comes, if there is room for that. Few
  // batches are better unless there are half as many groups more: [64,2^20] in one batch 0.86, in two 0.85; [90,750000]
  // 0.79 and 0.81, [56,1200000] 0.63 and 0.83.
  Index needed = 0;
  for (int batches = 1; 2 * batches < kMostPlacesOfRing; ++batches) {
    const auto waits = [&](const Share& share) {
      return share.batches.count <= batches && 2 * share.batches.count < share.places;
    };
    const Index parts = fewest(waits).parts;
    if (parts > 0 && (needed == 0 || 2 * (resident / parts) >= 3 * (resident / needed))) needed = parts;
  }
  // Nor do panels that the chip holds at once take turns to wait for each other: f32 [32768,128] axis 0 20.3 to 16.8
  // us, [49152,128] 30 to 22, [8176,513] 26 to 23, bf16 [65536,128] 25 to 19.
  if (needed == 0 || (panels && all_at_once && needed * tiles > resident)) needed = least;
  const Index useful = std::max<Index>(1, lines.count * lines.bytes / kSmallestPartBytes);
  Journey journey{.threads = crew.threads};
  journey.groups = std::min(tiles, resident / needed);
  // Fewer blocks with as many packs a lane are as fast: [64,2^20] by 128 instead of 132 blocks a row 0.86 for 0.80.
  const Index meet = joined ? most_that_meet(columns) : resident;
  const Index most = std::clamp(std::min(meet, resident / journey.groups), needed, std::max(needed, useful));
  const Batches batches = share_of(most, crew, lines, room).batches;
  const Share share = fewest([&](const Share& one) {
    return one.parts >= needed && one.batches.count == batches.count && one.batches.loads == batches.loads;
  });
  journey.part = share.lines * lines.elements;
  journey.parts = share.parts;
  journey.groups = std::min(tiles, resident / journey.parts);
  // Of one turn each no more than it takes: beside small blocks those of the next launch begin.
  const Index places = journey.groups == tiles ? share.batches.count : share.places;
  journey.shared_bytes = places * batch_bytes(crew.threads, share.batches.loads);
  return journey;
}

}  // namespace

bool travels_in_packs(const Step& step) {
  const bool rows = step.kernel.body == Body::rows, joined = travels_joined(step);
  const std::span<const Axis> lanes = rows ? step.reduced : step.kept, others = rows ? step.kept : step.reduced;
  const Index pack = pack_of(step.kernel.input);
  const auto is_whole = [&](const Axis& axis) { return axis.in % pack == 0 && axis.out % pack == 0; };
  const auto along = lanes.first(lanes.size() - 1);
  const Axis& lane = lanes.back();
  if (lane.in != 1 || lane.out != 1) return false;
  if (joined || (rows && along.empty())) return true;
  return lane.size % pack == 0 && std::all_of(along.begin(), along.end(), is_whole) &&
         std::all_of(others.begin(), others.end(), is_whole);
}

bool are_better_joined(const Step& step) {
  constexpr Index kWholeRows = 160 << 10, kUnevenRows = 96 << 10, kTwoPanels = 48 << 10;  // bytes for each of a row
  const Index element = static_cast<Index>(size_bytes(step.kernel.input)), row = step.kept.back().size * element;
  const Index all = elements(step.kept) * elements(step.reduced) * element;
  const bool whole = step.kept.back().size % pack_of(step.kernel.input) == 0;
  if (row <= kSectorBytes || (element == 2 && !whole)) return true;
  return all >= row * (whole ? kWholeRows : row < kTravellingLineBytes ? kUnevenRows : kTwoPanels);
}

bool join_to_travel(Step& step) {
  if (step.kernel.body != Body::columns || step.kernel.source != SourceKind::dense || step.kept.empty()) return false;
  const Axis column = step.kept.back();
  const bool follow = are_neighbours(step) && step.reduced.size() == 1 && step.reduced.back().in == column.size &&
                      step.reduced.back().out == column.size;
  if (!follow || column.size > kMostColumnsToJoin) return false;
  step.kernel.source = SourceKind::joined;
  step.kernel.tuning.panel_bytes =  // of one panel, where another kernel takes them
      static_cast<int>(ceil_power_of_two(column.size) * static_cast<Index>(size_bytes(step.kernel.input)));
  step.launch.grid[1] = elements(step.kept) / column.size;
  return true;
}

Journey journey_of(const Problem& problem, const Step& step, const DeviceFacts& device) {
  if (!travels(problem, step, device)) return {};
  const Lines lines = lines_of(problem, step);
  const auto travel = [&](Crew crew) {
    const bool joined = travels_joined(step);
    const int pack = static_cast<int>(pack_of(step.kernel.input));
    if (joined) crew.lanes = joined_lanes(crew.threads, travelling_columns(step), pack);
    const Journey journey = with(crew, lines, step, device);
    const Index last = (journey.parts - 1) * journey.part;  // whose block may have what is cut off at the end
    return joined && (journey.parts < 2 || last >= elements(step.reduced)) ? Journey{} : journey;
  };
  const Journey pair = travel(kPair);
  const double most = step.kernel.body == Body::rows || travels_joined(step) ? kMostOfRow : kMostOfPanel;
  if (pair.threads != 0 && static_cast<double>(pair.parts) <= most * device.multiprocessors) return pair;
  const Journey one = travel(kOne);
  return one.threads != 0 ? one : pair;
}

}  // namespace ndfold
