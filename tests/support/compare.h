// One way to run a request and to judge its result: every test of values goes through check().
#pragma once
#include <ndfold/plan.h>

#include "tests/support/bounds.h"
#include "tests/support/views.h"

#include <gtest/gtest.h>

#include <optional>
#include <sstream>
#include <variant>

namespace ndfold::test {

using AnyRequest = std::variant<ReduceSpec, SoftmaxSpec, Order>;

struct How {
  PlanOptions options;
  Workers* workers = nullptr;  ///< none: the default ones
  bool exact = false;          ///< the data leave no room for rounding before the output's own
};

struct Outcome {
  Status status;  ///< of planning, or else of the run
  std::string strategy;
  std::string failure;  ///< empty when all is well
  Real worst = 0;       ///< error / bound, over the elements that have a bound
};

Result<ReducePlan> plan_for(const AnyRequest& request, const ViewDesc& in, const ViewDesc& out,
                            const PlanOptions& options = {});

/// Scratch of exactly the size that a plan asks for, full of garbage.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes) : array_(dense(DType::u8, {static_cast<Index>(bytes)})), bytes_(bytes) {}
  Workspace get() { return {.data = bytes_ == 0 ? nullptr : array_.data(), .bytes = bytes_}; }
  Array& array() { return array_; }
  bool margins_untouched() const { return array_.gaps_untouched(); }

 private:
  Array array_;
  std::size_t bytes_;
};

/// What one output element must be, and how far it may be off.
struct Expected {
  Index place;  ///< offset in the output
  Real value;
  Real bound;
};

Row row_at(const Array& in, Index base, const std::vector<Index>& inner);

std::vector<Expected> expected_of(const ReduceSpec& spec, const Array& in, const ViewDesc& out);

std::vector<Expected> expected_of(const SoftmaxSpec& spec, const Array& in, const ViewDesc& out);

std::vector<Expected> expected_of(const Order& order, const Array& in, const ViewDesc& out);

/// NaN equals NaN; the sign of a zero counts where the result is one of the elements.
inline bool is_same(Real a, Real b, bool sign_counts) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && (!sign_counts || a != 0 || std::signbit(a) == std::signbit(b));
}

/// Compares every element; returns what the first wrong one is, or nothing.
std::string judge(const std::vector<Expected>& list, const Array& out, bool exact, bool sign_counts, Real& worst);

inline bool sign_counts(const AnyRequest& request) {
  const auto* reduce = std::get_if<ReduceSpec>(&request);
  return reduce != nullptr ? reduce->op == ReduceOp::max || reduce->op == ReduceOp::min || reduce->op == ReduceOp::linf
                           : std::holds_alternative<Order>(request);
}

/// Plans, runs and compares. `out` may be `in` itself: then the softmax is done in place.
Outcome check(const AnyRequest& request, Array& in, Array& out, const How& how = {});

/// check(), and a test failure when anything is wrong.
inline Outcome expect_right(const AnyRequest& request, Array& in, Array& out, const How& how = {}) {
  Outcome outcome = check(request, in, out, how);
  EXPECT_EQ(outcome.failure, "");
  return outcome;
}

/// A reduction of `in` into a new dense array of the default or the given type.
inline Outcome expect_reduced(const ReduceSpec& spec, Array& in, DType output = DType::best, const How& how = {}) {
  if (output == DType::best) output = default_output(spec.op, in.desc().dtype);
  Array out(dense(output, output_sizes(in.desc().sizes, spec.axes, spec.keep_axes)));
  return expect_right(spec, in, out, how);
}

/// A softmax of `in` into a new dense array.
inline Outcome expect_softmax(const SoftmaxSpec& spec, Array& in, DType output = DType::best, const How& how = {}) {
  Array out(dense(output == DType::best ? in.desc().dtype : output, in.desc().sizes));
  return expect_right(spec, in, out, how);
}

}  // namespace ndfold::test
