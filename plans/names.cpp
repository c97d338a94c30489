// What a step's enumerators are called, in explain() and in messages.
#include <ndfold/step.h>

#include <iterator>

namespace ndfold {
namespace {

template <std::size_t N, class Enum>
std::string_view pick(const std::string_view (&names)[N], Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : "unknown";
}

}  // namespace

std::string_view name(Body value) {
  static constexpr std::string_view kNames[] = {"rows", "columns", "elementwise", "permute"};
  return pick(kNames, value);
}

std::string_view name(FoldKind value) {
  static constexpr std::string_view kNames[] = {"none",          "sum",       "compensated_sum",
                                                "prod",          "mean",      "compensated_mean",
                                                "max",           "min",       "var",
                                                "std",           "any",       "all",
                                                "count_nonzero", "argmax",    "argmin",
                                                "sumsq",         "l1",        "l2",
                                                "linf",          "logsumexp", "softmax"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(FoldKind::softmax) + 1);
  return pick(kNames, value);
}

std::string_view name(MapKind value) {
  static constexpr std::string_view kNames[] = {"none",   "scale",        "subtract", "exponential",
                                                "divide", "subtract_log", "softmax",  "log_softmax"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(MapKind::log_softmax) + 1);
  return pick(kNames, value);
}

std::string_view name(SourceKind value) {
  static constexpr std::string_view kNames[] = {"dense", "strided", "joined", "states"};
  return pick(kNames, value);
}

std::string_view name(SinkKind value) {
  static constexpr std::string_view kNames[] = {"store", "store_state", "softmax", "log_softmax"};
  return pick(kNames, value);
}

std::string_view name(Scope value) {
  static constexpr std::string_view kNames[] = {"lanes", "block", "cluster", "grid"};
  return pick(kNames, value);
}

std::string_view name(Residency value) {
  static constexpr std::string_view kNames[] = {"none", "registers", "shared", "cluster", "ring", "output", "scratch"};
  return pick(kNames, value);
}

}  // namespace ndfold
