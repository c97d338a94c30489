// columns_in_bundles: short lines that lie one after the other, with all that is reduced within a line: brought into
// shared memory by the bundle, where a lane, or a few of a warp, fold an output, whichever axes those are.
#include <ndfold/few_rows.h>

#include "plans/build/builders.h"
#include "plans/build/bundles.h"
#include "plans/build/lines.h"
#include "plans/build/orientation.h"
#include "plans/build/steps.h"

#include <algorithm>
#include <array>
#include <bit>

namespace ndfold {
namespace {

constexpr int kWarp = 32, kBanks = 32, kBankBytes = 4;
constexpr Index kMostOfLane = 128;           // 16 batches: kernels/cuda/columns_in_bundles.h
constexpr Index kBundleBytes = 16 * 1024;    // of several lines
constexpr Index kLongLineBytes = 56 * 1024;  // of which two blocks have room for two; else one has twice the threads
constexpr Index kLongestLineBytes = 112 * 1024;  // of which one block has: a softmax's, else read from memory twice
constexpr Index kMostOfTable = 1 << 16;          // elements of a line whose places are numbers of 16 bits
constexpr Index kThreads = 1024;                 // of a multiprocessor
constexpr Index kVectorBytes = 16;               // a block's load of neighbouring columns
constexpr Index kWideRowBytes = 192;             // of a line for blocks, whatever its length
constexpr Index kPlaceBytes = 2;                 // of an element in a table of places

// Cycles that a warp takes of a multiprocessor: a quarter of its instructions, or its turns at shared memory.
struct Cycles {
  double slot;     // of an element, or a place for one
  double loads;    // and how often shared memory is asked for one
  double batch;    // of elements that are folded together
  double meeting;  // of two lanes
  double output;
};
constexpr Cycles kPlain = {.slot = 1, .loads = 1, .batch = 0.5, .meeting = 1, .output = 9};
constexpr Cycles kTwoLooks = {.slot = 2.2, .loads = 1, .batch = 8, .meeting = 3, .output = 14};
constexpr Cycles kKept = {.slot = 3, .loads = 2, .batch = 0, .meeting = 2, .output = 9};
constexpr Cycles kThreeLooks = {.slot = 5, .loads = 4, .batch = 1, .meeting = 2, .output = 9};
constexpr double kWorthMoreLines = 0.93;  // of the cycles: longer bundles leave room for fewer blocks

struct Line {
  Index length = 0, rows = 1, element_bytes = 1;
  std::vector<Axis> kept = {}, reduced = {};  // within it
  Index outputs() const { return length / rows; }
  Index bytes() const { return length * element_bytes; }
  Index table_bytes() const { return reduced.size() < 2 ? 0 : round_up(rows * kPlaceBytes, kUnitBytes); }
};

// The shortest stretch of memory with all that one output is folded from; no length where elements have gaps, or
// results of a softmax lie otherwise.
Line line_of(const Problem& problem) {
  const auto &kept = problem.axes.kept, &reduced = problem.axes.reduced;
  std::vector<Axis> axes = kept;
  axes.insert(axes.end(), reduced.begin(), reduced.end());
  std::sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.in < b.in; });
  Index run = 1;
  for (const Axis& axis : axes) {
    if (axis.in != run || (problem.kind == RequestKind::softmax && axis.out != run)) return {};
    run *= axis.size;
  }
  Line line{.length = reduced.front().in * reduced.front().size,
            .rows = problem.axes.reduced_elements(),
            .element_bytes = static_cast<Index>(size_bytes(problem.input)),
            .reduced = reduced};
  std::copy_if(kept.begin(), kept.end(), std::back_inserter(line.kept),
               [&](const Axis& axis) { return axis.in < line.length; });
  return line;
}

Index place_in(const std::vector<Axis>& axes, Index number) {
  Index place = 0;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    place += number % axis->size * axis->in;
    number /= axis->size;
  }
  return place;
}

// How many words of one bank of shared memory a warp asks for at a time.
int words_of_bank(const Line& line, Index lanes) {
  std::array<std::array<Index, kWarp>, kBanks> words;
  std::array<int, kBanks> count = {};
  for (Index lane = 0; lane < kWarp; ++lane) {
    const Index output = lane / lanes, row = lane % lanes;
    const Index element = output / line.outputs() * line.length + place_in(line.kept, output % line.outputs()) +
                          place_in(line.reduced, row % line.rows);
    const Index word = element * line.element_bytes / kBankBytes;
    const auto bank = static_cast<std::size_t>(word % kBanks);
    auto* const end = words[bank].data() + count[bank];
    if (std::find(words[bank].data(), end, word) == end) *end = word, ++count[bank];
  }
  return *std::max_element(count.begin(), count.end());
}

// How a block shares out its lines, and what one of them takes its warps.
struct Bundle {
  Index lanes = 0, lines = 1;
  double cycles = 0;
};

double cycles_of_output(const Line& line, const Problem& problem, Index lanes) {
  const bool maps = problem.kind == RequestKind::softmax, twice = looks_twice(problem.fold);
  const Index count = ceil_divide(line.rows, lanes), word = static_cast<Index>(size_bytes(problem.accumulate));
  const bool keeps = maps && line.reduced.size() == 1 && count * word <= kKeptBytes;
  const bool is_even = !maps && count <= kOwnLoops && count * lanes == line.rows && line.reduced.size() == 1;
  const Cycles& cycles = keeps ? kKept : maps ? kThreeLooks : twice ? kTwoLooks : kPlain;
  const Index batch = is_even ? count : keeps ? 2 : maps || twice ? 8 : 4, slots = round_up(count, batch);
  const double turns_at_memory = cycles.loads * words_of_bank(line, lanes);
  return static_cast<double>(slots) * std::max(cycles.slot, turns_at_memory) +
         static_cast<double>(slots / batch) * cycles.batch +
         cycles.meeting * std::countr_zero(static_cast<std::uint64_t>(lanes)) + cycles.output;
}

// Bytes of a bundle of which a block has room for two.
Index room_of_bundle(const Line& line, const Problem& problem, const DeviceFacts& device) {
  const Index room = shared_bytes_for(1, device) - kArrivalBytes - line.table_bytes();
  const Index longest = problem.kind == RequestKind::softmax ? kLongestLineBytes : kLongLineBytes;
  return std::min(longest, room / 2 - 2 * kUnitBytes);
}

// As many whole turns of a block's lanes as a bundle of so many bytes has lines for.
Bundle bundle_of(Index bytes, Index lanes, double cycles, const Line& line, Index threads) {
  const Index at_once = threads / lanes, most = std::max<Index>(1, bytes / line.bytes());
  const Index full = most * line.outputs() / at_once * at_once / line.outputs();
  const Index lines = std::clamp<Index>(full, 1, most), turns = ceil_divide(lines * line.outputs(), at_once);
  return {.lanes = lanes, .lines = lines, .cycles = static_cast<double>(turns) * cycles / static_cast<double>(lines)};
}

Bundle best_bundle(const Line& line, const Problem& problem, Index threads, Index room) {
  Bundle best;
  for (Index lanes = 1; lanes <= std::min<Index>(kWarp, line.rows); lanes *= 2) {
    if (ceil_divide(line.rows, lanes) > kMostOfLane) continue;
    const double cycles = cycles_of_output(line, problem, lanes);
    for (Index bytes = kBundleBytes; bytes <= kLongLineBytes; bytes += kBundleBytes) {
      const Bundle bundle = bundle_of(std::min(bytes, room), lanes, cycles, line, threads);
      const double worth = bundle.lines > best.lines ? kWorthMoreLines : 1;
      if (best.lanes == 0 || bundle.cycles < worth * best.cycles) best = bundle;
    }
  }
  return best;
}

struct Places {
  Index blocks, places;  // of a multiprocessor, and of a block
};

// A block's only bundle needs one place, others two.
Places places_for(const Bundle& bundle, const Line& line, Index all, Index threads, bool maps,
                  const DeviceFacts& device) {
  Places to{.blocks = kThreads / threads, .places = 0};
  const bool single = ceil_divide(all, bundle.lines) <= device.multiprocessors * to.blocks;
  const Index fewest = single ? 1 : 2, most = single ? 1 : maps ? kMostPlaces : 2;
  const auto places = [&] {
    return places_of(to.blocks, bundle.lines * line.bytes(), most, device, line.table_bytes());
  };
  while (to.blocks > 1 && places() < fewest) --to.blocks;
  to.places = places();
  return to;
}

Index lines_of(const Problem& problem, const Line& line) { return problem.inputs / line.length; }

// Even lines: f32 from 1.9 KiB on, 16 bits from 2.3 KiB or with rows of 512 bytes. Uneven ones: f32 of wide rows.
bool suits_blocks_of_softmax(const Line& line, Index bytes, bool even) {
  constexpr Index kFewestBytes = 80, kWideBytes = 128, kFewestKept = 16, kWideUnevenBytes = 6000;
  constexpr Index kFewestOfLine = 1920, kWideHalfBytes = 512, kFewestOfHalfLine = 2304;
  if (line.element_bytes == 2)
    return even && (bytes >= kWideHalfBytes || (bytes >= kWideBytes && line.bytes() >= kFewestOfHalfLine));
  if (even) return bytes >= kFewestBytes && line.bytes() >= kFewestOfLine;
  return bytes >= kWideUnevenBytes || (bytes >= kWideBytes && line.rows >= kFewestKept);
}

// Of even rows, us of 128 MiB by blocks and in bundles (an H200): bf16 of 3 × 128 sums 58 and 70, var 80 and 107,
// argmax 117 and 112; of 8 × 16 43 and 51, 49 and 72, 63 and 106; of 2 × 96 105 and 90, 141 and 145, 190 and 134; f32
// of 2 rows 60 and 58, 73 and 76, 93 and 81, of 8 36 and 44, 37 and 45, 46 and 63.
bool suits_blocks_of_few(const Problem& problem, const Line& line, Index bytes) {
  constexpr Index kFewestRows = 4, kFewestBytes = 64, kFewestHalfBytes = 32;
  const bool half = line.element_bytes == 2, idle = !std::has_single_bit(static_cast<std::uint64_t>(bytes));
  if (line.rows >= kFewestRows) return bytes >= (half ? kFewestHalfBytes : kFewestBytes);
  if (bytes < kFewestBytes || folds_an_index(problem.fold)) return false;
  return looks_twice(problem.fold) || line.rows == 3 || (half && !idle);
}

// Of more rows of 16 bits: sums of 64 × 64 34 and 40, of 48 × 32 55 and 40; var of 48 × 256 36 and 43, of 48 × 128 59
// and 43; argmax of 48 × 128 55 and 77, of 48 × 64 90 and 77.
Index width_for_blocks(const Problem& problem, const Line& line) {
  constexpr Index kWideHalfBytes = 128, kWideLooksBytes = 512;
  if (line.element_bytes != 2 || folds_an_index(problem.fold)) return kWideRowBytes;
  return looks_twice(problem.fold) ? kWideLooksBytes : kWideHalfBytes;
}

// And long lines, where a warp's lanes meet in few banks of shared memory: by blocks and in bundles, us of 128 MiB (an
// H200), sums f32 of 1280 × 8 33 and 49, of 512 × 16 33 and 47, of 128 × 16 34 and 39, of 200 × 8 40 and 39; var of
// 1280 × 8 41 and 87, of 256 × 16 40 and 48, of 128 × 16 47 and 42. Sums bf16 of 512 × 8 33 and 39, of 128 × 16 42 and
// 39; var of 400 × 32 47 and 80, of 512 × 16 46 and 43.
bool is_long_for_blocks(const Problem& problem, Index line_bytes, Index row_bytes) {
  constexpr Index kLongBytes = 8 << 10, kLongLooksBytes = 16 << 10, kLongHalfLooksBytes = 24 << 10;
  constexpr Index kWideForIndices = 32, kWideForLooks = 64;
  if (!looks_twice(problem.fold)) return line_bytes >= kLongBytes;
  if (size_bytes(problem.input) != 2) return line_bytes >= kLongLooksBytes;
  return folds_an_index(problem.fold) ? row_bytes >= kWideForIndices && line_bytes >= kLongLooksBytes
                                      : row_bytes >= kWideForLooks && line_bytes >= kLongHalfLooksBytes;
}

bool suits_blocks_of_many(const Problem& problem, const Line& line, Index bytes) {
  return bytes >= width_for_blocks(problem, line) || is_long_for_blocks(problem, line.bytes(), bytes);
}

// Where blocks load whole vectors of neighbouring columns, or keep a softmax's columns in registers, they are sooner
// from a width on. By blocks and in bundles, us of 128 MiB (an H200): sums f32 of 16 × 16 35 and 43, of 64 × 64 70 and
// 39, of 256 × 56 29 and 38; maxima bf16 of 64 × 64 142 and 40, of 32 × 256 36 and 41, of 2 × 1280 76 and 58. Softmaxes
// f32 of 4 × 32 124 and 86, of 64 × 33 77 and 113, bf16 of 8 × 128 97 and 87, of 64 × 64 75 and 99, of 300 × 61 81 and
// 31. Of lines that one block alone has room for, f32 of 1500 × 16 and 5 × 5000, blocks reach 0.89 and 0.81 of a copy
// (docs/measurements/gpu-history.md#lines-in-bundles).
bool suits_blocks(const Problem& problem, const Line& line) {
  constexpr Index kWideSoftmaxBytes = 128, kLongHalfBytes = 72 * 1024;
  if (line.kept.back().in != 1 || line.reduced.size() != 1) return false;
  const Index bytes = line.kept.back().size * line.element_bytes;
  const bool even = bytes % kVectorBytes == 0, maps = problem.kind == RequestKind::softmax;
  const Index long_line = maps && !even && line.element_bytes == 2 ? kLongHalfBytes : kLongLineBytes;
  if (line.bytes() > long_line && (even || bytes >= kWideSoftmaxBytes)) return true;
  if (maps) return suits_blocks_of_softmax(line, bytes, even);
  return even && (line.rows <= kFewRows ? suits_blocks_of_few(problem, line, bytes)
                                        : suits_blocks_of_many(problem, line, bytes));
}

}  // namespace

Verdict can_columns_in_bundles(const Problem& problem, const DeviceFacts& device) {
  if (Verdict verdict = can_fold(problem); !verdict.possible()) return verdict;
  if (device.kind == DeviceKind::cpu) return no("a CPU's caches are bundles enough");
  if (problem.axes.kept.empty() || problem.axes.reduced.empty() || problem.axes.repeat != 1)
    return no("no axis is kept, or none is read and reduced");
  if (!has_many_kernels(problem)) return no("there is no kernel of its own for this fold");
  if (problem.kind == RequestKind::softmax && problem.output != problem.input)
    return no("results do not fit the places of their elements");
  const Line line = line_of(problem);
  if (line.length == 0) return no("its lines do not lie one after the other");
  if (line.outputs() < 2) return no("a line has one output: it is a row");
  if (line.bytes() > room_of_bundle(line, problem, device)) return no("such lines do not fit a bundle");
  if (line.rows > kWarp * kMostOfLane) return no("a warp does not fold so many elements at once");
  const bool is_looked_up = problem.axes.reduced.size() > 1;
  if (is_looked_up && line.length > kMostOfTable) return no("a line has too many places to look up");
  if (is_looked_up && folds_an_index(problem.fold)) return no("an index is looked up along one axis");
  if (lines_of(problem, line) < 2 * Index{device.multiprocessors}) return unwise("lines are too few");
  return suits_blocks(problem, line) ? unwise("blocks load such columns as quickly") : yes();
}

bool suits_columns_in_bundles(const Problem& problem, const DeviceFacts& device) {
  return can_columns_in_bundles(problem, device).kind == Verdict::Kind::yes;
}

bool is_long_narrow_line(const Problem& problem) {
  const std::vector<Axis>&kept = problem.axes.kept, &reduced = problem.axes.reduced;
  if (problem.kind == RequestKind::softmax || reduced.size() != 1 || kept.back().in != 1) return false;
  const Index row = kept.back().size * static_cast<Index>(size_bytes(problem.input));
  return reduced.back().in == kept.back().size && row % kVectorBytes == 0 && row < kWideRowBytes &&
         is_long_for_blocks(problem, row * reduced.back().size, row);
}

Schedule build_columns_in_bundles(const Problem& problem, const DeviceFacts& device) {
  const TuningRow& tuned = tuning_for(device, question_of("columns_in_bundles", problem));
  Step step = fold_step(problem, Body::columns, tuned);
  const Line line = line_of(problem);
  const Index wanted = Index{tuned.use.threads} * (line.bytes() > kLongLineBytes ? 2 : 1);
  const Index threads = std::min<Index>(wanted, device.threads_per_block), all = lines_of(problem, line);
  const Bundle bundle = best_bundle(line, problem, threads, room_of_bundle(line, problem, device));
  const Places to = places_for(bundle, line, all, threads, problem.kind == RequestKind::softmax, device);
  const Index bytes = bundle.lines * line.bytes();
  step.kernel.scope = Scope::lanes;
  step.kernel.residency = Residency::shared;
  step.kernel.tuning.lanes_per_row = static_cast<int>(bundle.lanes);
  step.kernel.tuning.panel_bytes = static_cast<int>(bytes);
  step.launch.block = static_cast<int>(threads);
  step.launch.shared_bytes = kArrivalBytes + to.places * place_bytes(bytes) + line.table_bytes();
  step.launch.grid = {1, std::min(ceil_divide(all, bundle.lines), device.multiprocessors * to.blocks), 1};
  return {.steps = {step}};
}

}  // namespace ndfold
