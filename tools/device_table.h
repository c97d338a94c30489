// The devices that plans can be made for, by the names that --device takes.
#pragma once
#include <ndfold/device.h>

#include <CLI/CLI.hpp>

namespace ndfold::cli {

struct DeviceRow {
  const char* name;
  DeviceFacts (*facts)();
  const char* can;
};

inline constexpr DeviceRow kDevices[] = {
    {"cpu", DeviceFacts::host, "plans and runs"},
    {"h200", DeviceFacts::h200, "plans only in this build"},
    {"a100", DeviceFacts::a100, "plans only in this build"},
};

/// --device with one of these names.
void add_device(CLI::App& verb, DeviceFacts& facts);

}  // namespace ndfold::cli
