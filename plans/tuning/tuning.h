// Tuning is data: rows of {when, use, evidence}, first match wins; the distinct rows are the kernels to instantiate.
#pragma once
#include <ndfold/device.h>
#include <ndfold/step.h>

#include <limits>
#include <span>
#include <string_view>

namespace ndfold {

inline constexpr Index kAny = std::numeric_limits<Index>::max();

/// What a row applies to; a field left out applies to everything.
struct TuningMatch {
  std::string_view strategy;
  Index reduced_up_to = kAny;  ///< elements folded into one output
  Index bytes_up_to = kAny;    ///< the same in bytes: a whole row
  Index element_up_to = kAny;  ///< bytes of one element
  bool softmax_only = false;
};

struct TuningRow {
  TuningMatch when;
  Tuning use;
  Residency residency = Residency::none;  ///< of a softmax: where elements wait between fold and map
  std::string_view evidence;              ///< file#heading, from the root of the repository
};

struct TuningQuestion {
  std::string_view strategy;
  Index element_bytes = 4;
  Index reduced = 1;
  bool softmax = false;
  bool registers = true;  ///< rows whose elements wait in registers may match
};

/// The rows of a device's architecture, in order; as they are built in, and as this machine has them (override.h).
std::span<const TuningRow> built_in_rows(const DeviceFacts& device);
std::span<const TuningRow> tuning_rows(const DeviceFacts& device);

/// The first row that matches. Every strategy that the device has ends in a row without limits.
const TuningRow& tuning_for(const DeviceFacts& device, TuningQuestion question);

/// Whether a kernel could be made of these numbers for a GPU: whole warps, lanes that divide them, whole vectors.
constexpr bool is_valid_for_gpu(const Tuning& use) {
  constexpr int kWarp = 32, kMostThreads = 1024, kMostClusterBlocks = 16;
  const int bytes = use.vector_bytes;
  const bool vectors = bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
  return use.threads % kWarp == 0 && use.threads >= kWarp && use.threads <= kMostThreads && vectors &&
         use.lanes_per_row >= 1 && use.lanes_per_row <= kWarp && kWarp % use.lanes_per_row == 0 && use.unroll >= 1 &&
         use.panel_bytes % bytes == 0 && use.cluster_blocks >= 1 && use.cluster_blocks <= kMostClusterBlocks;
}

/// All rows are, and each says what it rests on.
constexpr bool are_valid_for_gpu(std::span<const TuningRow> rows) {
  for (const TuningRow& row : rows)
    if (!is_valid_for_gpu(row.use) || row.evidence.empty() || row.residency >= Residency::output) return false;
  return true;
}

}  // namespace ndfold
