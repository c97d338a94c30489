// Numbers that take the place of a tuning table's on this machine: of a file that NDFOLD_TUNING names, read once. Which
// rows there are, in what order, and where elements wait stays as the table says.
#pragma once
#include <ndfold/status.h>

#include "plans/tuning/tuning.h"

#include <string>
#include <vector>

namespace ndfold {

struct TuningOverride {
  int architecture = 0;  ///< of the devices that it is for: 90, and not 100
  TuningRow row;         ///< `when` is that of a row of their table
};

/// A file's text: a line of column names, and a line a row; lines that begin with # say nothing.
/// @return invalid_argument, with the line and the field that is wrong.
Result<std::vector<TuningOverride>> parse_overrides(std::string_view text);

/// The line of column names; and a row as a line, which parse_overrides() understands.
std::string override_columns();
std::string text_of(const TuningOverride& row);

/// The rows of a GPU's table as they are used; empty where nothing takes their place.
std::span<const TuningRow> overridden_rows(int architecture);
inline bool is_overridden(const DeviceFacts& device) {
  return device.kind == DeviceKind::cuda && !overridden_rows(device.architecture).empty();
}

/// Why the file that NDFOLD_TUNING names cannot be used: then nothing is planned for a GPU.
Status check_overrides();

/// For a program that searches, and for tests: these rows from now on, whatever NDFOLD_TUNING says. Plans that are
/// there stay as they are; no other thread may plan meanwhile.
void use_overrides(const std::vector<TuningOverride>& rows);

}  // namespace ndfold
