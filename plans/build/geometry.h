// How a step lies on a device: launch limits, resident blocks, and where a softmax's elements wait.
#pragma once
#include <ndfold/device.h>

#include "plans/schedule.h"

namespace ndfold {

/// Blocks of this launch that one multiprocessor holds at a time, by threads, shared memory and registers; at least 1.
Index resident_blocks(const Step& step, const DeviceFacts& device);

/// Shared memory that the exchange between warps needs.
inline constexpr Index kExchangeBytes = 4 * 1024;

/// Shared bytes that each of `blocks` blocks on a multiprocessor may use for elements, beside the exchange.
Index shared_bytes_for(Index blocks, const DeviceFacts& device);

/// Two vectors: what a row that begins and ends within one needs more.
inline constexpr Index kRowEndsBytes = 32;

/// Shared bytes in which a block's tile waits: in whole vectors, wherever its rows begin.
Index waiting_bytes(const Step& step);

/// Whether a tile of a softmax fits where it is to wait.
bool can_wait(const Step& step, Residency wanted, const DeviceFacts& device);

/// Lets the elements of a softmax wait where `wanted` says if they fit there, else they are read again.
void settle(Step& step, Residency wanted, const DeviceFacts& device);

/// Packs of a line that a block of many loads a lane keeps: in registers, and in shared memory what those have no room
/// for, which lets two blocks share a multiprocessor (kernels/cuda/packs_beyond.h).
Index packs_of_block(const Tuning& tuning, const DeviceFacts& device);

/// Lets the first elements of a line wait in `room` shared bytes; only the rest is read again.
void settle_partly(Step& step, Index room);

/// The share of its elements that a softmax reads again: all, none, or what settle_partly() left without room.
double share_again(const Step& step);

/// Of what a step reads.
Index element_bytes(const Step& step);

/// Bytes of elements that one block folds: a row, a panel, or its part of one; a line of columns in bundles.
Index tile_bytes(const Step& step);

/// Whether lanes of a warp share a line's columns, and a block takes several lines; and whether lines come in bundles.
bool are_columns_in_lanes(const Step& step);
bool are_columns_in_bundles(const Step& step);

/// Rows that a block of the scope lanes folds at once, several a group of lanes when rows are shorter than its loads;
/// or panels of a block of columns.
Index tiles_of_block(const Step& step);

/// The nearest powers of two; 1 for what is less.
Index floor_power_of_two(Index value);
Index ceil_power_of_two(Index value);

/// Of a GPU's memory, of which a part is seldom read alone.
inline constexpr Index kMemoryLineBytes = 128;

/// Elements that a lane of a GPU loads at once.
inline Index pack_of(DType type) { return 16 / static_cast<Index>(size_bytes(type)); }

/// Brings every launch within the limits of a GPU. Its grids may be smaller than the work: in x (the blocks that share
/// an output) and in y (outputs, or panels of them) blocks stride. A CPU's grids count tasks and have no limit.
void fit_to_device(Schedule& schedule, const DeviceFacts& device);

}  // namespace ndfold
