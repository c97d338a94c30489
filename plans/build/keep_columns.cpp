#include "plans/build/keep_columns.h"

#include <ndfold/travelling.h>

#include "plans/build/fit_columns.h"
#include "plans/build/geometry.h"
#include "plans/build/steps.h"

#include <algorithm>
#include <bit>

namespace ndfold {
namespace {

constexpr Index kBlocksOfFewPanels = 4;  // of a multiprocessor, sooner than wide panels
// Of as many rows as lanes keep at most, where tall panels do not suit.
constexpr Tuning kNarrowColumns{.threads = 512, .unroll = 16, .panel_bytes = 1024};

// Of a panel whose columns wait in registers. Of 512 even rows f32 shared memory keeps 128 bytes each at 0.92 of a
// copy, registers at 0.88.
Index narrowest_kept_bytes(const Step& step) {
  return element_bytes(step) < 4 || !has_even_rows(step) ? kMemoryLineBytes : 2 * kMemoryLineBytes;
}

bool suits_registers(const Step& step, const DeviceFacts& device) {
  const KernelKey& kernel = step.kernel;
  return device.kind == DeviceKind::cuda && kernel.body == Body::columns && !step.kept.empty() &&
         kernel.output == kernel.input && kernel.accumulate == DType::f32;
}

// Of 16 bits rows of whole packs do not gain: [128,524296] axis 0 takes 125 us where panels overlap, 121 where not; of
// odd length 125 and 165 (an H100).
bool gains_by_overlap(const Step& step, Index pack) {
  return element_bytes(step) < 4 ? !results_are_whole(step, pack) : !are_whole_sectors(step);
}

// Whether elements and results are more than caches keep, so many times over: else a sector that is written in two
// parts costs nothing. [128,32769] and [128,65537] axis 0 take 16.7 and 29.1 us where panels overlap, 15.9 and 32.0
// where they do not; where they travel [1024,8193] and [1024,16385] 50.7 and 80.0, and 47.1 and 85.1 (an H100).
bool are_beyond_cache(const Step& step, Index times, const DeviceFacts& device) {
  const double bytes = 2.0 * static_cast<double>(elements(step.kept)) * static_cast<double>(elements(step.reduced));
  return bytes * static_cast<double>(element_bytes(step)) > static_cast<double>(times * device.cache_bytes);
}

// Of panels of few columns a quarter is folded twice: that gains where rows are long, and all is more than caches keep
// twice. [64,197,5001] axis 1 took 150 us, and 170 where panels overlap, [32,150,16641] 208 and 183; [256,32769] axis
// 0 27.5 and 28.9, [256,131073] 98 and 90 (an H200).
bool pays_for_overlap(const Step& step, Index columns_of_lanes, const DeviceFacts& device) {
  constexpr Index kNarrowBytes = 256, kRowsOfCache = 1024;
  const bool narrow = columns_of_lanes * element_bytes(step) <= kNarrowBytes;
  return are_beyond_cache(step, narrow ? 2 : 1, device) &&
         (!narrow || step.kept.back().size * element_bytes(step) >= device.cache_bytes / kRowsOfCache);
}

// Rows along one axis, of columns that are neighbours on both sides.
bool is_line_of_neighbours(const Step& step) {
  return step.reduced.size() == 1 && step.kept.back().in == 1 && step.kept.back().out == 1;
}

// Whether panels of columns along one axis may overlap, of so many lanes and slots: packs of a slot's rows lie alike.
bool may_overlap(const Step& step, Index lanes, Index slots, Index pack, const DeviceFacts& device) {
  return step.reduced.size() == 1 && lanes >= device.lanes && step.kept.back().size > lanes * pack &&
         slots * step.reduced.back().in % pack == 0 && rows_begin_alike(step, pack);
}

// Columns of a panel of so many that lanes have: those where rows are whole sectors, all of a row, or panels overlap.
// 0: lanes have too many.
Index width_of_tall_sectors(const Step& step, Index columns) {
  const Index element = element_bytes(step), size = step.kept.back().size;
  if (are_whole_sectors(step)) return columns;
  if (size + rows_of_sector(element) - 1 <= columns) return size;
  const Index width = width_by_sectors(columns, element);
  return size > columns && is_width_by_sectors(width, element) ? width : 0;
}

// Side by side, of panels so wide: what overlaps, or is all of a row, has more than columns that it writes.
Index lanes_by_sectors(const Step& step, Index width) {
  return are_whole_sectors(step) ? width / kTallColumns
                                 : lanes_of_tall_sectors(width, step.kept.back().size, element_bytes(step));
}

// Of a row in panels so wide.
Index columns_read_by_sectors(const Step& step, Index width) {
  return ceil_divide(step.kept.back().size, width) * lanes_by_sectors(step, width) * kTallColumns;
}

}  // namespace

bool has_even_rows(const Step& step) {
  const bool neighbours = step.kernel.source == SourceKind::dense && are_neighbours(step);
  const bool any = !neighbours || !maps_elements(step.kernel.sink);  // wherever results lie
  return !has_uneven_rows(step) &&
         (any || rows_begin_alike(step, step.kernel.tuning.vector_bytes / element_bytes(step)));
}

bool overlaps(const Step& step) {
  const KernelKey& kernel = step.kernel;
  const bool keeps = kernel.residency == Residency::registers || kernel.residency == Residency::ring;
  return kernel.body == Body::columns && keeps && is_width_by_sectors(panel_elements(step), element_bytes(step));
}

bool overlap_to_travel(Step& step, const DeviceFacts& device) {
  constexpr Index kRowsOfBlock = 256;  // that its registers keep
  const Index element = element_bytes(step), pack = step.kernel.tuning.vector_bytes / element;
  const Index columns = 2 * travelling_columns(element);
  const bool suits = element == 4 && elements(step.reduced) > kRowsOfBlock && suits_registers(step, device) &&
                     !are_whole_sectors(step) && are_beyond_cache(step, 2, device) && step.reduced.size() == 1 &&
                     step.kept.back().size > columns && rows_begin_alike(step, pack);
  if (!suits) return false;
  step.kernel.tuning.panel_bytes = static_cast<int>(width_by_sectors(columns, element) * element);
  step.launch.grid[1] = elements(step.kept) / step.kept.back().size * panels(step);
  return true;
}

Index columns_read(const Step& step) {
  const Index width = panel_elements(step);
  return keeps_tall_sectors(step) ? columns_read_by_sectors(step, width) : panels(step) * width;
}

namespace {

// Whether blocks of so many threads and shared bytes leave loads room enough. Of 16 bits copies of 8 bytes pass through
// the first cache, which has what shared memory leaves: bf16 [704,95328] axis 0 takes 105 us by three blocks of 256
// threads that leave 28 KiB, 89 by two of 512 that leave 156; [64,1024,2048] axis 1 171 so, and 151 with 60 KiB left.
bool leaves_room(const Step& step, Index threads, Index bytes, const DeviceFacts& device) {
  constexpr Index kOfLoads = 32 * 1024, kReserved = 1024;
  const Index all = device.shared_bytes_per_multiprocessor, of_block = bytes + kReserved;
  const Index blocks = std::min(2 * kTallThreads / threads, all / of_block);
  return blocks >= 2 && (element_bytes(step) >= 4 || blocks * of_block <= all - kOfLoads);
}

// Panels as wide as fit: of those the ones whose lanes have the fewest columns twice.
bool keep_tall_sectors(Step& step, const DeviceFacts& device) {
  KernelKey& kernel = step.kernel;
  const Index element = element_bytes(step), size = step.kept.back().size, load = kTallColumns * element;
  if (!suits_registers(step, device) || device.threads_per_block < kTallThreads || !is_line_of_neighbours(step))
    return false;
  Index fewest = 0;
  for (const Index columns : kTallSectorColumns) {
    const Index width = width_of_tall_sectors(step, columns);
    if (width == 0) continue;
    const Index lanes = lanes_by_sectors(step, width), slots = kTallThreads / lanes;
    const Index beyond = std::max<Index>(0, step.part - rows_of_tall_sectors(element) * slots) * lanes * load;
    const Index meeting = tall_sectors_bytes(kTallThreads, lanes, step.launch.cluster, element);
    if (slots % rows_of_sector(element) != 0 || !leaves_room(step, kTallThreads, beyond + meeting, device)) continue;
    const Index read = columns_read_by_sectors(step, width);
    if (fewest > 0 && read >= fewest) continue;
    fewest = read;
    kernel.residency = Residency::registers;
    kernel.tuning.threads = step.launch.block = kTallThreads;
    kernel.tuning.unroll = rows_of_tall_sectors(element);
    kernel.tuning.panel_bytes = static_cast<int>(width * element);
    step.launch.grid[1] = elements(step.kept) / size * ceil_divide(size, width);
    step.launch.shared_bytes = beyond;
  }
  return fewest > 0;
}

// Of rows that registers alone might have room for, too. Whether they are whole sectors that lie near each other, or
// registers alone have no room for panels of 256 bytes: smaller blocks overlap more. f32 [1024,197,64] axis 1
// takes 31.0 us by registers alone and 28.0 so, [64,200,4096] 103.6 and 102.4; but [200,167680] axis 0, of panels of
// 128 bytes far apart, 72.2 and 75.5, and [256,256], of few panels, 2.0 and 2.8.
bool suits_tall_panels(const Step& step, const DeviceFacts& device) {
  constexpr Index kMany = 256, kNearBytes = 16 * 1024;
  if (!has_even_rows(step)) return false;
  if (elements(step.reduced) > kMany) return true;
  if (is_small_and_wide(step, step.kernel.tuning.panel_bytes, step.launch.grid[1], device)) return false;
  if (element_bytes(step) < 4) return true;
  return are_whole_sectors(step) && step.reduced.size() == 1 &&
         step.reduced.back().in * element_bytes(step) <= kNearBytes;
}

// Whether rows that registers alone might have room for gain by waiting beyond them. By registers alone and so, us of
// an H200: f32 [200,300001] axis 0 172 and 143, [256,262143] 177 and 159, [64,197,5001] axis 1 147 and 136; but
// [128,2097151] 586 and 618, [1024,197,225] 104 and 125, [200,4097] 4.8 and 7.4, [512,2047] 6.1 and 8.9,
// [512,8191] 17.1 and 15.9; bf16 [256,300001] 217 and 129, [128,524287] 122 and 145, and of more rows, for which they
// have none, [300,8193] 20.7 and 9.9. Where results begin elsewhere in a pack, from rows of 4097, f32 [64,512,4096]
// axis 1 283 and 342, [64,300,4095] 375 and 203, of 5001 [64,197,4999] 146 and 166; bf16 [64,150,5000] 96 and 111,
// [64,197,4999] 138 and 138, [64,300,4095] 395 and 160.
bool gains_beyond(const Step& tall, const DeviceFacts& device) {
  constexpr Index kSome = 128, kMany = 256;
  const Index rows = elements(tall.reduced), size = tall.kept.back().size;
  const bool across = !rows_begin_alike(tall, kTallColumns);
  if (element_bytes(tall) < 4) return rows > (across ? kMany : kSome);
  if (across && are_whole_sectors(tall)) return false;
  if (rows > kMany) return tall.launch.grid[1] >= device.multiprocessors;
  const bool reads_once = columns_read(tall) * 5 <= size * 6;  // but for a fifth
  return rows > kSome && !across && reads_once && are_beyond_cache(tall, 1, device);
}

}  // namespace

namespace {

// By so many threads, of panels of so many columns: whether there is room.
bool keep_tall_panels(Step& step, int threads, Index columns, const DeviceFacts& device) {
  const Index element = element_bytes(step), load = kTallColumns * element, lanes = columns / kTallColumns;
  const Index beyond = std::max<Index>(0, step.part - threads / lanes * step.kernel.tuning.unroll) * lanes * load;
  const Index meeting = tall_meeting_bytes(threads, lanes, step.launch.cluster);
  if (step.kept.back().size < columns || !leaves_room(step, threads, beyond + meeting, device)) return false;
  step.kernel.residency = Residency::registers;
  step.kernel.tuning.threads = step.launch.block = threads;
  step.kernel.tuning.panel_bytes = static_cast<int>(columns * element);
  step.launch.grid[1] = elements(step.kept) / step.kept.back().size * panels(step);
  step.launch.shared_bytes = beyond;
  return true;
}

}  // namespace

bool cuts_many_sectors(const Step& step) {
  constexpr int kNarrowBytes = 128;
  return !are_whole_sectors(step) && !keeps_tall_sectors(step) && step.kernel.tuning.panel_bytes <= kNarrowBytes;
}

// Where rows cut sectors, panels as wide as have room: of 128 bytes two sectors of five are cut. f32 [1000,33556] axis
// 0 takes 118 us so, 91 with 512 bytes by four blocks; bf16 [384,174760] 111 and, with 256, 91.
bool keep_tall_columns(Step& step, const DeviceFacts& device) {
  if (!has_even_rows(step)) return keep_tall_sectors(step, device);
  const Index pack = step.kernel.tuning.vector_bytes / element_bytes(step), columns = panel_elements(step);
  const bool suits = suits_registers(step, device) && step.reduced.size() == 1 && rows_begin_alike(step, pack) &&
                     step.kept.back().size % pack == 0;
  if (!suits) return false;
  if (!are_whole_sectors(step) && are_beyond_cache(step, 2, device))
    for (const Index wide : kTallSectorColumns)
      if (wide > columns && keep_tall_panels(step, kTallThreads, wide, device)) return true;
  for (int threads = step.launch.block; threads <= kTallThreads; threads *= 2)
    if (keep_tall_panels(step, threads, columns, device)) return true;
  return false;
}

bool keep_columns(Step& step, const DeviceFacts& device) {
  KernelKey& kernel = step.kernel;
  const Index rows = elements(step.reduced), element = element_bytes(step);
  if (rows > kMostKeptRows) return keep_tall_columns(step, device);
  if (is_of_tall_columns(kernel.tuning)) {
    if (suits_tall_panels(step, device) && keep_tall_columns(step, device)) return true;
    Step narrow = step;
    narrow.kernel.tuning = kNarrowColumns;
    narrow.launch.block = kNarrowColumns.threads;
    if (!keep_columns(narrow, device)) return false;
    step = narrow;
    return true;
  }
  if (!suits_registers(step, device)) return false;
  if (Step tall = step; !has_even_rows(step) && keep_tall_sectors(tall, device) && gains_beyond(tall, device)) {
    step = tall;
    return true;
  }
  const KeptColumns kept = kept_columns(kernel.tuning, element);
  const Index threads = std::min({step.launch.block, kept.threads, device.threads_per_block}),
              size = step.kept.back().size, outer = elements(step.kept) / size;
  Index slots = ceil_divide(std::max<Index>(rows, 1), kept.rows);
  if (slots > threads) return false;
  Index lanes = std::min(floor_power_of_two(threads / slots), floor_power_of_two(panel_elements(step) / kept.columns));
  lanes = std::min(lanes, ceil_power_of_two(ceil_divide(size, kept.columns)));
  while (lanes > device.lanes &&
         outer * ceil_divide(size, lanes * kept.columns) < Index{device.multiprocessors} * kBlocksOfFewPanels)
    lanes /= 2;
  const auto panels_of = [&] { return outer * ceil_divide(size, lanes * kept.columns); };
  const bool wide = lanes * kept.columns * element >= narrowest_kept_bytes(step) || lanes * kept.columns >= size;
  if (!wide) return false;
  while (is_small_and_wide(step, lanes * kept.columns * element, panels_of(), device)) lanes /= 2;
  const Index alike = round_up(slots, kept.columns);  // slots whose rows begin alike
  const bool overlap = alike * lanes <= threads && gains_by_overlap(step, kept.columns) &&
                       pays_for_overlap(step, lanes * kept.columns, device) &&
                       may_overlap(step, lanes, alike, kept.columns, device);
  if (overlap) slots = alike;
  const Index panel = overlap ? width_by_sectors(lanes * kept.columns, element) : lanes * kept.columns;
  kernel.residency = Residency::registers;
  kernel.tuning.panel_bytes = static_cast<int>(panel * element);
  step.launch.block = static_cast<int>(round_up(lanes * slots, device.lanes));
  step.launch.grid[1] = outer * panels(step);
  return true;
}

}  // namespace ndfold
