// The devices that --device names: this CPU, the GPUs that are here, and those that need not be here to plan for them.
#pragma once
#include <ndfold/device.h>

#include <CLI/CLI.hpp>

namespace ndfold::cli {

struct DeviceRow {
  const char* name;
  DeviceFacts (*facts)();
};

/// By name alone; cuda and cuda:N are asked of the driver.
inline constexpr DeviceRow kDevices[] = {
    {"cpu", DeviceFacts::host},
    {"h200", DeviceFacts::h200},
    {"a100", DeviceFacts::a100},
};

/// --device of a verb that only plans: a name of the table, cuda or cuda:N.
void add_device(CLI::App& verb, DeviceFacts& facts);
/// --device of a verb that computes: cpu, cuda or cuda:N.
void add_running_device(CLI::App& verb, DeviceFacts& facts);

/// "cpu" or "cuda:N".
std::string name_of(const DeviceFacts& facts);

}  // namespace ndfold::cli
