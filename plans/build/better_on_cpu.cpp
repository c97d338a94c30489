#include "plans/build/builders.h"

namespace ndfold {
namespace {

struct Better {
  std::string_view name;
  Verdict (*can)(const Problem&, const DeviceFacts&);
  const char* why;
};

// What is asked first goes first.
constexpr Better kBetter[] = {
    {"map_across", can_map_across, "its results lie across its elements"},
    {"wide_columns", can_wide_columns, "what lies beside its columns is folded, too"},
    {"columns_first", can_columns_first, "its runs are folded as columns"},
};

}  // namespace

Verdict or_better_on_cpu(std::string_view strategy, const Problem& problem, const DeviceFacts& device) {
  if (device.kind != DeviceKind::cpu) return yes();
  for (const Better& better : kBetter) {
    if (better.name == strategy) break;
    if (better.can(problem, device).kind == Verdict::Kind::yes) return unwise(better.why);
  }
  return yes();
}

}  // namespace ndfold
