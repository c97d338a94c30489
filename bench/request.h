// A benchmark's case in ndfold's own words.
#pragma once
#include <ndfold/ndfold.h>

#include "bench/subject.h"

#include <optional>
#include <string>
#include <variant>

namespace ndfold::bench {

struct Request {
  ViewDesc in, out;
  std::variant<ReduceSpec, SoftmaxSpec> spec;

  Result<ReducePlan> plan(const PlanOptions& options = {}) const {
    if (const auto* reduction = std::get_if<ReduceSpec>(&spec)) return ReducePlan::reduce(in, out, *reduction, options);
    return ReducePlan::softmax(in, out, std::get<SoftmaxSpec>(spec), options);
  }
};

/// Nothing when there is no such operation or element type; `why` then says so.
std::optional<Request> request_of(const Case& c, std::string& why);

}  // namespace ndfold::bench
