// Ask every strategy, estimate those that can, take the cheapest, remember the rest.
#pragma once
#include "plans/strategy.h"

#include <vector>

namespace ndfold {

struct Candidate {
  std::string_view name;
  Verdict verdict;
  double microseconds = 0;  ///< meaningful when verdict.kind is yes
};

struct Choice {
  std::string_view strategy;
  Schedule schedule;
  double microseconds = 0;
  bool forced = false;
  std::vector<Candidate> candidates;  ///< in the order of the table, the chosen one included
};

/// Refuses when options.strategy names no row of the table, or one that cannot do this problem.
Result<Choice> choose(const Problem& problem, const PlanOptions& options);

}  // namespace ndfold
