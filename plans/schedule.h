// A schedule: steps in order and the workspace they share.
#pragma once
#include <ndfold/step.h>

#include "plans/checked.h"

#include <vector>

namespace ndfold {

struct Schedule {
  std::vector<Step> steps;
  Index workspace_bytes = 0;
  bool workspace_fits = true;  ///< in 64 bits; choose() refuses a schedule that does not
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// Hands out places of a workspace, each aligned to kAlignment.
class WorkspaceLayout {
 public:
  static constexpr Index kAlignment = 64;

  WorkspaceLayout() = default;
  /// Behind what a schedule has already.
  explicit WorkspaceLayout(const Schedule& schedule) : used_(schedule.workspace_bytes) {}

  Buffer place(Checked bytes) {
    const Buffer buffer{.place = Buffer::Place::workspace, .offset_bytes = used_.fits() ? used_.value() : 0};
    bytes += kAlignment - 1;
    used_ += bytes.fits() ? Checked(bytes.value() / kAlignment * kAlignment) : bytes;
    return buffer;
  }

  /// Writes the total into the schedule.
  void finish(Schedule& schedule) const {
    schedule.workspace_fits = used_.fits();
    schedule.workspace_bytes = used_.fits() ? used_.value() : 0;
  }

 private:
  Checked used_ = 0;
};

inline constexpr Buffer kInput{.place = Buffer::Place::input};
inline constexpr Buffer kOutput{.place = Buffer::Place::output};

}  // namespace ndfold
