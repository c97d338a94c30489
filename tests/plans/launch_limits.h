// What every schedule must satisfy on its device, for the tests and the fuzzer of the planner.
#pragma once
#include "plans/build/geometry.h"
#include "plans/canonical.h"

#include <cmath>
#include <limits>
#include <string>

namespace ndfold::test {

struct LimitRow {
  const char* broken;
  bool (*holds)(const Step&, const Schedule&, const DeviceFacts&);
};

inline bool is_in_workspace(const Buffer& buffer, const Schedule& schedule) {
  return buffer.place != Buffer::Place::workspace ||
         (buffer.offset_bytes >= 0 && buffer.offset_bytes % 64 == 0 && buffer.offset_bytes <= schedule.workspace_bytes);
}

inline bool is_gpu(const DeviceFacts& device) { return device.kind == DeviceKind::cuda; }

inline constexpr LimitRow kLimits[] = {
    {"a grid extent is below 1",
     [](const Step& s, const Schedule&, const DeviceFacts&) {
       return s.launch.grid[0] >= 1 && s.launch.grid[1] >= 1 && s.launch.grid[2] >= 1;
     }},
    {"grid x is above 2^31 - 1",
     [](const Step& s, const Schedule&, const DeviceFacts& d) {
       return !is_gpu(d) || s.launch.grid[0] <= std::numeric_limits<std::int32_t>::max();
     }},
    {"grid y or z is above 65535",
     [](const Step& s, const Schedule&, const DeviceFacts& d) {
       return !is_gpu(d) || (s.launch.grid[1] <= 65535 && s.launch.grid[2] <= 65535);
     }},
    {"the block is not within the device's limit",
     [](const Step& s, const Schedule&, const DeviceFacts& d) {
       return s.launch.block >= 1 && (!is_gpu(d) || s.launch.block <= d.threads_per_block);
     }},
    {"the cluster is not within the device's limit",
     [](const Step& s, const Schedule&, const DeviceFacts& d) {
       return s.launch.cluster >= 1 && s.launch.cluster <= d.cluster_blocks;
     }},
    {"grid x is not a multiple of the cluster",
     [](const Step& s, const Schedule&, const DeviceFacts&) { return s.launch.grid[0] % s.launch.cluster == 0; }},
    {"shared memory exceeds a block's",
     [](const Step& s, const Schedule&, const DeviceFacts& d) {
       return s.launch.shared_bytes >= 0 && s.launch.shared_bytes <= d.shared_bytes_per_block;
     }},
    {"a cooperative grid is not resident at once",
     [](const Step& s, const Schedule&, const DeviceFacts& d) {
       const auto& grid = s.launch.grid;
       return !s.launch.cooperative ||
              (d.cooperative && grid[0] * grid[1] * grid[2] <= resident_blocks(s, d) * d.multiprocessors);
     }},
    {"there are more than two grid barriers, or one without a cooperative launch",
     [](const Step& s, const Schedule&, const DeviceFacts&) {
       return s.launch.grid_barriers <= (s.launch.cooperative ? 2 : 0);
     }},
    {"parts do not cover the reduced elements",
     [](const Step& s, const Schedule&, const DeviceFacts&) {
       if (s.kernel.body == Body::permute) return true;
       return s.parts >= 1 && static_cast<double>(s.part) * static_cast<double>(s.parts) >=
                                  static_cast<double>(elements(s.reduced)) * (1 - 1e-12);
     }},
    {"a buffer lies outside the workspace",
     [](const Step& s, const Schedule& all, const DeviceFacts&) {
       return is_in_workspace(s.in, all) && is_in_workspace(s.out, all) && is_in_workspace(s.values, all) &&
              is_in_workspace(s.exchange, all);
     }},
    {"blocks exchange states without a place for them",
     [](const Step& s, const Schedule&, const DeviceFacts&) {
       return s.kernel.scope != Scope::grid || s.exchange.place == Buffer::Place::workspace;
     }},
    {"bytes are not a number of bytes",
     [](const Step& s, const Schedule&, const DeviceFacts&) {
       return std::isfinite(s.bytes_read) && std::isfinite(s.bytes_written) && s.bytes_read >= 0 &&
              s.bytes_written >= 0;
     }},
};

/// Empty, or which limit the first offending step breaks.
inline std::string broken_limit(const Schedule& schedule, const DeviceFacts& device) {
  for (std::size_t i = 0; i < schedule.steps.size(); ++i)
    for (const LimitRow& limit : kLimits)
      if (!limit.holds(schedule.steps[i], schedule, device))
        return "step " + std::to_string(i + 1) + " on " + device.name + ": " + limit.broken;
  return schedule.workspace_bytes < 0 ? "the workspace is negative" : "";
}

}  // namespace ndfold::test
