// The verb devices, and the option --device of the verbs that plan for any of them.
#include <ndfold/workers.h>

#include "tools/device_table.h"
#include "tools/verbs.h"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <sstream>

namespace ndfold::cli {
namespace {

constexpr int kLabelWidth = 34;
constexpr int kColumnWidth = 26;

struct FactRow {
  const char* label;
  double (*value)(const DeviceFacts&);
};

constexpr double kKibi = 1024;

constexpr FactRow kFactRows[] = {
    {"cores or multiprocessors", [](const DeviceFacts& d) { return double(d.multiprocessors); }},
    {"lanes", [](const DeviceFacts& d) { return double(d.lanes); }},
    {"threads a block, at most", [](const DeviceFacts& d) { return double(d.threads_per_block); }},
    {"shared memory a block, KiB", [](const DeviceFacts& d) { return double(d.shared_bytes_per_block) / kKibi; }},
    {"L2 cache, KiB", [](const DeviceFacts& d) { return double(d.cache_bytes) / kKibi; }},
    {"shared cache, KiB", [](const DeviceFacts& d) { return double(d.shared_cache_bytes) / kKibi; }},
    {"reads, GB/s", [](const DeviceFacts& d) { return d.read_gigabytes_per_second; }},
    {"copies (read + written), GB/s", [](const DeviceFacts& d) { return d.copy_gigabytes_per_second; }},
    {"one more step, µs", [](const DeviceFacts& d) { return d.launch_microseconds; }},
};

// std::setw counts bytes; µ has two.
std::string padded(const std::string& text, std::size_t width) {
  const auto letters = static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  return text + std::string(letters < width ? width - letters : 1, ' ');
}

std::string number(double value) {
  std::ostringstream text;
  text << std::setprecision(6) << value;
  return text.str();
}

template <class Cell>
void print_row(const std::string& label, Cell cell) {
  std::string line = padded(label, kLabelWidth);
  for (const auto& device : kDevices) line += padded(cell(device), kColumnWidth);
  line.erase(line.find_last_not_of(' ') + 1);
  std::cout << line << '\n';
}

Status print_devices() {
  print_row("device", [](const DeviceRow& row) { return std::string(row.name); });
  print_row("model", [](const DeviceRow& row) { return row.facts().name; });
  print_row("in this build", [](const DeviceRow& row) { return std::string(row.can); });
  print_row("architecture", [](const DeviceRow& row) {
    const int architecture = row.facts().architecture;
    return architecture == 0 ? std::string("-") : "sm_" + std::to_string(architecture);
  });
  for (const auto& fact : kFactRows)
    print_row(fact.label, [&](const DeviceRow& row) { return number(fact.value(row.facts())); });
  const auto level = cpu_level();
  std::cout << "cpu runs " << (level.empty() ? "no" : level) << " kernels on " << default_workers().threads()
            << " threads unless NDFOLD_CPU, --threads or NDFOLD_NUM_THREADS say otherwise\n";
  return {};
}

}  // namespace

void add_device(CLI::App& verb, DeviceFacts& facts) {
  const auto read = [&facts](const std::string& text) {
    const auto* row = std::find_if(std::begin(kDevices), std::end(kDevices),
                                   [&](const DeviceRow& device) { return text == device.name; });
    if (row == std::end(kDevices))
      throw CLI::ValidationError("--device", "'" + text + "' is not a device; there are cpu h200 a100");
    facts = row->facts();
  };
  verb.add_option_function<std::string>("--device", read, "Plan for cpu (the default), h200 or a100; none need be here")
      ->type_name("NAME");
}

Action add_devices(CLI::App& verb) {
  verb.footer("These numbers feed the cost model; they never change a result.");
  return print_devices;
}

}  // namespace ndfold::cli
