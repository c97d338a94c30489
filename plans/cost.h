// The cost model: what a step would take on a device, from its bytes, launches, waves and barriers.
#pragma once
#include <ndfold/device.h>

#include "plans/schedule.h"

namespace ndfold {

/// An estimate, good enough to rank strategies; docs/architecture.md says what it leaves out.
double microseconds(const Step& step, const DeviceFacts& device);
double microseconds(const Schedule& schedule, const DeviceFacts& device);

/// The device whose estimates decide. For a CPU it is always the same one, so that a choice, and with it the rounding
/// of a result, never depends on how many cores there are or how fast they are; a GPU decides for itself.
const DeviceFacts& ranking_facts(const DeviceFacts& device);

}  // namespace ndfold
