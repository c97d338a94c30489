// Lines of whole packs, which kernels take without looking for ends (kernels/cuda/whole_lines.h).
#pragma once
#include <ndfold/device.h>

#include "plans/problem.h"
#include "plans/schedule.h"

#include <span>

namespace ndfold {

/// The folds that have kernels for many ways to lie in memory: kernels/cuda/catalog.cmake. Others have those that do
/// for all of them.
bool has_many_kernels(const Problem&);
bool has_many_kernels(FoldKind, DType input, DType accumulate);

/// Whether packs of a reduction's columns may begin anywhere in memory: word by word (kernels/cuda/load_across.h).
bool loads_across(const Problem&);

/// Whether kernels look twice at what they fold: at what it is measured from, or where the best value was.
bool looks_twice(FoldKind);
/// Whether a power of each element is added.
bool raises_powers(const Problem&);

/// Whether all that these axes step over is whole vectors, and of a softmax's results as well.
bool step_over_packs(const Problem&, std::span<const Axis>);

/// Whether a GPU's outputs are folded from whole vectors of neighbours each, and a softmax writes them as such.
bool has_whole_lines(const Problem&, const DeviceFacts&);

/// Whether rows are lines of neighbours, and lie one after the other, as do a softmax's results.
bool lie_one_after_the_other(const Problem&);

/// Where rows are lines of neighbours but no whole vectors, and registers had better keep those that they have: lanes
/// of a GPU that share a row, of any number; else 0.
Index lanes_of_cut_line(const Problem&, const DeviceFacts&);

/// Whether a warp keeps a softmax's line of more than four vectors a lane, where half of a block's lanes would have
/// none: 520 f32 65 us by warps and 79 by blocks, 1280 bf16 68 and 72, 1281 77 and 86; of 700 and 1792 none is slower.
bool keeps_in_warp(const Problem&, const DeviceFacts&);

/// Vectors that cover the runs of a softmax's row wherever they begin, where the registers of a GPU's block have room
/// for them and results lie in vectors as their elements do (kernels/cuda/cut_runs.h); else 0.
Index packs_of_cut_runs(const Problem&, const DeviceFacts&);

/// Whether the registers of a cluster had better keep a softmax's rows: lines of whole vectors, or of those that
/// cut_lines.h takes. Rows of 32 K f32 reach 0.94 of a copy so, 0.91 in shared memory; of bf16 0.71 and 0.75.
bool keeps_long_lines(const Problem&, const DeviceFacts&);

/// Whether all that an output is folded from lies closer together than one output's elements and the next one's.
bool lie_apart(std::span<const Axis> kept, std::span<const Axis> reduced);

/// Whether rows are runs of whole vectors, and so are a softmax's results.
bool has_whole_runs(const Problem&);

/// Where a block finds out once where the packs of its rows lie, it takes several rows: enough to pay for that, and few
/// enough that blocks end at different times. Not where a pack costs little and rows are long: sums of 64 KiB of bf16
/// reach 0.88 of a stream with a block each, in memory's order, and 0.79 so.
void stay_for_rows(const Problem&, const DeviceFacts&, Step&);

/// Whole lines that the registers of a warp hold, where that is the best way to take them.
bool suits_lines(const Problem&, const DeviceFacts&);

/// Of whole lines: 16 bytes each; and whether a lane had better have one of each of several lines.
Index packs_of_line(const Problem&);
/// Threads that have so many vectors of 16 bytes on their way at once: whole warps, a block of them at most.
int threads_of_packs(Index packs, const Tuning&, const DeviceFacts&);
bool has_packs_for_lanes(const Problem&);

}  // namespace ndfold
