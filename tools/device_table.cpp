#include "tools/device_table.h"

#include <algorithm>
#include <charconv>

namespace ndfold::cli {
namespace {

constexpr std::string_view kCuda = "cuda";

DeviceFacts refuse(const std::string& sentence) { throw CLI::ValidationError("--device", sentence); }

// cuda, cuda:0, cuda:1, …
DeviceFacts gpu_of(const std::string& text) {
  int ordinal = 0;
  if (text != kCuda) {
    const char* const first = text.data() + kCuda.size() + 1;
    const char* const end = text.data() + text.size();
    const auto [next, error] = std::from_chars(first, end, ordinal);
    if (error != std::errc() || next != end || ordinal < 0)
      return refuse("'" + text + "' names no GPU: say cuda, cuda:0, cuda:1, …");
  }
  const auto facts = DeviceFacts::cuda(ordinal);
  return facts ? *facts : refuse("'" + text + "' cannot be used: " + facts.error().message());
}

bool names_gpu(const std::string& text) { return text == kCuda || text.rfind(std::string(kCuda) + ":", 0) == 0; }

const DeviceRow* find_row(const std::string& text) {
  const auto* row = std::find_if(std::begin(kDevices), std::end(kDevices),
                                 [&](const DeviceRow& device) { return text == device.name; });
  return row == std::end(kDevices) ? nullptr : row;
}

DeviceFacts facts_of(const std::string& text) {
  if (names_gpu(text)) return gpu_of(text);
  if (const auto* row = find_row(text)) return row->facts();
  return refuse("'" + text + "' is not a device; there are cpu cuda cuda:N h200 a100");
}

DeviceFacts running_facts_of(const std::string& text) {
  if (find_row(text) != nullptr && text != "cpu")
    return refuse("'" + text + "' is there to plan for; what runs are cpu cuda cuda:N");
  return facts_of(text);
}

void add(CLI::App& verb, DeviceFacts& facts, DeviceFacts (*parse)(const std::string&), const char* help) {
  const auto read = [&facts, parse](const std::string& text) { facts = parse(text); };
  verb.add_option_function<std::string>("--device", read, help)->type_name("NAME");
}

}  // namespace

void add_device(CLI::App& verb, DeviceFacts& facts) {
  add(verb, facts, facts_of,
      "Plan for cpu (the default), cuda or cuda:N, a GPU of this machine, or h200 or a100, which need not be here");
}

void add_running_device(CLI::App& verb, DeviceFacts& facts) {
  add(verb, facts, running_facts_of, "Where to compute: cpu (the default), cuda or cuda:N, a GPU of this machine");
}

std::string name_of(const DeviceFacts& facts) {
  return facts.kind == DeviceKind::cpu ? "cpu" : std::string(kCuda) + ":" + std::to_string(facts.ordinal);
}

}  // namespace ndfold::cli
