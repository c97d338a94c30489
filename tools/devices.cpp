// The verb devices.
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
constexpr double kKibi = 1024;

std::string number(double value) {
  std::ostringstream text;
  text << std::setprecision(6) << value;
  return text.str();
}

std::string architecture(const DeviceFacts& facts) {
  return facts.architecture == 0 ? "-" : "sm_" + std::to_string(facts.architecture);
}

struct FactRow {
  const char* label;
  std::string (*text)(const DeviceFacts&);
};

constexpr FactRow kFactRows[] = {
    {"architecture", architecture},
    {"cores or multiprocessors", [](const DeviceFacts& d) { return number(d.multiprocessors); }},
    {"lanes", [](const DeviceFacts& d) { return number(d.lanes); }},
    {"threads a block, at most", [](const DeviceFacts& d) { return number(d.threads_per_block); }},
    {"shared memory a block, KiB",
     [](const DeviceFacts& d) { return number(static_cast<double>(d.shared_bytes_per_block) / kKibi); }},
    {"blocks a cluster, at most", [](const DeviceFacts& d) { return number(d.cluster_blocks); }},
    {"cooperative launch", [](const DeviceFacts& d) { return std::string(d.cooperative ? "yes" : "no"); }},
    {"L2 cache, KiB", [](const DeviceFacts& d) { return number(static_cast<double>(d.cache_bytes) / kKibi); }},
    {"shared cache, KiB",
     [](const DeviceFacts& d) { return number(static_cast<double>(d.shared_cache_bytes) / kKibi); }},
    {"reads, GB/s", [](const DeviceFacts& d) { return number(d.read_gigabytes_per_second); }},
    {"copies (read + written), GB/s", [](const DeviceFacts& d) { return number(d.copy_gigabytes_per_second); }},
    {"one more step, µs", [](const DeviceFacts& d) { return number(d.launch_microseconds); }},
    {"one barrier of a grid, µs", [](const DeviceFacts& d) { return number(d.grid_barrier_microseconds); }},
};

/// What is listed side by side.
struct Column {
  std::string name, can;
  DeviceFacts facts;
};

// GPUs that differ in nothing but their number share a column: cuda:0-7.
void add_gpu(std::vector<Column>& columns, const DeviceFacts& gpu) {
  if (Column& last = columns.back(); last.facts.kind == DeviceKind::cuda) {
    DeviceFacts twin = last.facts;
    twin.ordinal = gpu.ordinal;
    if (twin == gpu) {
      last.name = name_of(last.facts) + "-" + std::to_string(gpu.ordinal);
      return;
    }
  }
  columns.push_back({name_of(gpu), "plans and runs", gpu});
}

// Fills `columns` with all devices; the answer says why there is no GPU among those that run, if there is none.
Status list_devices(std::vector<Column>& columns) {
  columns.push_back({"cpu", "plans and runs", DeviceFacts::host()});
  Status why;
  for (int ordinal = 0; why.ok(); ++ordinal) {
    const auto gpu = DeviceFacts::cuda(ordinal);
    if (gpu)
      add_gpu(columns, *gpu);
    else
      why = gpu.error();
  }
  const bool has_gpu = columns.size() > 1;
  for (const auto& row : kDevices)
    if (std::string_view(row.name) != "cpu") columns.push_back({row.name, "plans only", row.facts()});
  return has_gpu ? Status() : why;
}

// std::setw counts bytes; µ has two.
std::string padded(const std::string& text, std::size_t width) {
  const auto letters = static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  return text + std::string(letters < width ? width - letters : 1, ' ');
}

template <class Cell>
void print_row(const std::vector<Column>& columns, const std::string& label, Cell cell) {
  std::string line = padded(label, kLabelWidth);
  for (const auto& column : columns) line += padded(cell(column), kColumnWidth);
  line.erase(line.find_last_not_of(' ') + 1);
  std::cout << line << '\n';
}

Status print_devices() {
  std::vector<Column> columns;
  const Status why_no_gpu = list_devices(columns);
  print_row(columns, "device", [](const Column& column) { return column.name; });
  print_row(columns, "model", [](const Column& column) { return column.facts.name; });
  print_row(columns, "here", [](const Column& column) { return column.can; });
  for (const auto& fact : kFactRows)
    print_row(columns, fact.label, [&](const Column& column) { return fact.text(column.facts); });
  const auto level = cpu_level();
  std::cout << "cpu runs " << (level.empty() ? "no" : level) << " kernels on " << default_workers().threads()
            << " threads unless NDFOLD_CPU, --threads or NDFOLD_NUM_THREADS say otherwise\n";
  if (!why_no_gpu.ok()) std::cout << "cuda runs nothing here: " << why_no_gpu.message() << '\n';
  return {};
}

}  // namespace

Action add_devices(CLI::App& verb) {
  verb.footer("These numbers feed the cost model; they never change a result.");
  return print_devices;
}

}  // namespace ndfold::cli
