// rows_in_grid and columns_in_grid: a whole softmax in one cooperative launch. Groups of co-resident blocks each keep
// one tile on the chip, publish their states, meet, and write; then the group takes its next tile.
#include <ndfold/travelling.h>

#include "plans/build/builders.h"
#include "plans/build/keep_columns.h"
#include "plans/build/orientation.h"
#include "plans/build/steps.h"
#include "plans/build/travel.h"
#include "plans/typing.h"

#include <algorithm>

namespace ndfold {
namespace {

constexpr Index kSmallestTileBytes = 64 * 1024;  // below it a block keeps the tile alone, without a barrier
constexpr Index kSmallestPartBytes = 8 * 1024;   // of a block: less does not pay for its share of the barrier
constexpr Index kMostExchangeBytes = 10 << 20;   // that the blocks of a tile read of each other's states

// Blocks of a multiprocessor hide each other's waits; a row's blocks all wait together, so fewer and larger will do.
Index blocks_of_multiprocessor(Body body) { return body == Body::rows ? 2 : 3; }

// All blocks of a tile read the states of all: more than kMostExchangeBytes take longer than fewer blocks do.
Index most_that_meet(const Step& step, const DeviceFacts& device) {
  const Index states = state_bytes(step.kernel.fold, step.kernel.accumulate) * columns_of(step);
  Index blocks = device.multiprocessors;
  while ((blocks + device.multiprocessors) * (blocks + device.multiprocessors) * states <= kMostExchangeBytes)
    blocks += device.multiprocessors;
  return blocks;
}

struct Shape {
  Index part = 1, parts = 1, groups = 1;
  bool waits = true;
};

Shape shape_of(const Step& step, const DeviceFacts& device) {
  const Body body = step.kernel.body;
  const Index reduced = elements(step.reduced), tiles = step.launch.grid[1];
  const Index line = std::max<Index>(1, waiting_bytes(step) / reduced);  // bytes of one reduced index
  const Index most = blocks_of_multiprocessor(body);
  const Index resident = std::min(most, resident_blocks(step, device)) * device.multiprocessors;
  const Index room = shared_bytes_for(most, device) - (body == Body::rows ? kRowEndsBytes : 0);
  const Index unit = unit_of_parts(step, std::min(room / line, reduced));
  const Index capacity = std::max<Index>(1, room / line / unit * unit);
  const Index needed = ceil_divide(reduced, capacity);
  const Index useful = ceil_divide(reduced, std::max<Index>(unit, kSmallestPartBytes / line));

  Shape shape;
  shape.waits = needed <= resident;
  const Index idle = std::min(resident / std::min(tiles, resident), most_that_meet(step, device));  // for each tile
  const Index least = std::min(needed, resident);
  shape.parts = std::clamp(idle, least, std::max(least, std::min(useful, resident)));
  shape.part = ceil_divide(ceil_divide(reduced, shape.parts), unit) * unit;
  shape.parts = ceil_divide(reduced, shape.part);
  shape.groups = std::min(tiles, std::max<Index>(1, resident / shape.parts));
  return shape;
}

// Whether all tiles of a softmax that travels are on the chip at once: panels that are not take longer than a row that
// is, f32 [62914,100] axis 0 36 us for 28.
bool holds_all(const Step& step, const Journey& journey) {
  const Index bytes = journey.part * travelling_columns(step) * element_bytes(step);
  return journey.threads != 0 && journey.groups == step.launch.grid[1] && bytes <= journey.shared_bytes;
}

void set_out(Step& step, const Journey& journey) {
  step.kernel.residency = Residency::ring;
  step.kernel.tuning.threads = step.launch.block = journey.threads;
  step.kernel.tuning.unroll = kTravellingLoads;
  step.part = journey.part;
  step.parts = journey.parts;
  step.launch.grid = {journey.parts, journey.groups, 1};
  step.launch.shared_bytes = journey.shared_bytes;
}

// Tiles that do not travel wait where they are, or are read again as far as there is no room.
void stay(Step& step, Body body, Residency residency, const DeviceFacts& device) {
  const Shape shape = shape_of(step, device);
  step.part = shape.part;
  step.parts = shape.parts;
  step.launch.grid = {shape.parts, shape.groups, 1};
  const bool line = body == Body::rows && step.reduced.size() == 1 && step.reduced.back().in == 1;
  if (!shape.waits && line && residency == Residency::shared)
    settle_partly(step, shared_bytes_for(blocks_of_multiprocessor(body), device));
  else
    settle(step, shape.waits ? residency : Residency::none, device);
}

Schedule build(std::string_view strategy, Body body, const Problem& problem, const DeviceFacts& device) {
  const TuningRow& tuned = tuning_for(device, question_of(strategy, problem));
  Step step = fold_step(problem, body, tuned);
  Journey journey;
  Step joined = step;
  const bool may_join = join_to_travel(joined);
  if (may_join && are_better_joined(step)) {
    journey = journey_of(problem, joined, device);
    if (journey.threads != 0) step = joined;
  }
  if (Step wide = step; journey.threads == 0 && body == Body::columns && overlap_to_travel(wide, device)) {
    journey = journey_of(problem, wide, device);
    if (journey.threads != 0) step = wide;
  }
  if (journey.threads == 0) journey = journey_of(problem, step, device);
  if (may_join && !travels_joined(step) && !holds_all(step, journey)) {
    const Journey as_row = journey_of(problem, joined, device);
    const bool travels = as_row.threads != 0;
    if (travels && (journey.threads == 0 || holds_all(joined, as_row))) step = joined, journey = as_row;
  }
  const Index tiles = step.launch.grid[1];
  step.kernel.scope = Scope::grid;
  step.launch.cooperative = true;
  step.launch.grid_barriers = 1;
  if (journey.threads != 0)
    set_out(step, journey);
  else
    stay(step, body, tuned.residency, device);

  WorkspaceLayout workspace;
  Schedule schedule;
  step.exchange = workspace.place(exchange_bytes(step, tiles));
  schedule.steps.push_back(std::move(step));
  workspace.finish(schedule);
  return schedule;
}

Verdict can(std::string_view strategy, Body body, const Problem& problem, const DeviceFacts& device) {
  if (Verdict verdict = can_fold(problem); !verdict.possible()) return verdict;
  if (device.kind == DeviceKind::cpu) return no("a CPU has no cooperative launch: split shares rows there");
  if (!device.cooperative) return no(device.name + " has no cooperative launch");
  if (problem.kind != RequestKind::softmax) return no("a reduction needs no barrier: split shares what is folded");
  const Verdict apt = body == Body::rows ? rows_are_apt(problem, device) : columns_are_apt(problem, device);
  if (apt.kind != Verdict::Kind::yes) return apt;
  const Step step = build(strategy, body, problem, device).steps.front();
  const bool few =
      !overlaps(step) && static_cast<double>(tile_bytes(step)) * static_cast<double>(step.parts) < kSmallestTileBytes;
  return few || step.parts < 2 ? unwise("a block is enough for so few elements") : yes();
}

}  // namespace

Verdict can_rows_in_grid(const Problem& problem, const DeviceFacts& device) {
  return can("rows_in_grid", Body::rows, problem, device);
}

Schedule build_rows_in_grid(const Problem& problem, const DeviceFacts& device) {
  return build("rows_in_grid", Body::rows, problem, device);
}

Verdict can_columns_in_grid(const Problem& problem, const DeviceFacts& device) {
  return can("columns_in_grid", Body::columns, problem, device);
}

Schedule build_columns_in_grid(const Problem& problem, const DeviceFacts& device) {
  return build("columns_in_grid", Body::columns, problem, device);
}

}  // namespace ndfold
