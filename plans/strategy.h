// A strategy is a row of a table: whether it can, and the schedule that it would run.
#pragma once
#include "plans/problem.h"
#include "plans/schedule.h"

#include <span>
#include <string>
#include <string_view>

namespace ndfold {

/// Can it give the right answer, and would anyone want it? Every refusal carries its reason.
struct Verdict {
  enum class Kind : std::uint8_t { yes, unwise, no };
  Kind kind = Kind::yes;
  std::string why;

  bool possible() const { return kind != Kind::no; }  ///< may be forced by name
};

inline Verdict yes() { return {}; }
inline Verdict unwise(std::string why) { return {Verdict::Kind::unwise, std::move(why)}; }
inline Verdict no(std::string why) { return {Verdict::Kind::no, std::move(why)}; }

struct Strategy {
  std::string_view name;
  Verdict (*can)(const Problem&, const DeviceFacts&);
  Schedule (*build)(const Problem&, const DeviceFacts&);
};

/// The table. Its order is for printing only: among those that can, the cheapest estimate wins.
std::span<const Strategy> strategies();

}  // namespace ndfold
