#include "plans/tuning/host.h"
#include "plans/tuning/override.h"
#include "plans/tuning/sm80.h"
#include "plans/tuning/sm90.h"
#include "plans/tuning/tuning.h"

namespace ndfold {
namespace {

constexpr TuningRow kUntuned = {};

struct Table {
  DeviceKind kind;
  int from_architecture;
  std::span<const TuningRow> rows;
};

// The first that is not too new for the device; GPUs older than the last take its rows too.
constexpr Table kTables[] = {
    {DeviceKind::cpu, 0, kHostTuning},
    {DeviceKind::cuda, 90, sm90::kTuning},
    {DeviceKind::cuda, 0, sm80::kTuning},
};

bool matches(const TuningRow& row, const TuningQuestion& question) {
  const TuningMatch& when = row.when;
  const Index fits = when.bytes_up_to / question.element_bytes;
  return when.strategy == question.strategy && question.reduced <= when.reduced_up_to && question.reduced <= fits &&
         question.element_bytes <= when.element_up_to && (!when.softmax_only || question.softmax) &&
         (question.registers || row.residency != Residency::registers);
}

}  // namespace

std::span<const TuningRow> built_in_rows(const DeviceFacts& device) {
  for (const Table& table : kTables)
    if (table.kind == device.kind && device.architecture >= table.from_architecture) return table.rows;
  return {};
}

std::span<const TuningRow> tuning_rows(const DeviceFacts& device) {
  return is_overridden(device) ? overridden_rows(device.architecture) : built_in_rows(device);
}

const TuningRow& tuning_for(const DeviceFacts& device, TuningQuestion question) {
  for (const TuningRow& row : tuning_rows(device))
    if (matches(row, question)) return row;
  return kUntuned;
}

}  // namespace ndfold
