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

inline Result<ReducePlan> plan_for(const AnyRequest& request, const ViewDesc& in, const ViewDesc& out,
                                   const PlanOptions& options = {}) {
  if (const auto* reduce = std::get_if<ReduceSpec>(&request)) return ReducePlan::reduce(in, out, *reduce, options);
  if (const auto* softmax = std::get_if<SoftmaxSpec>(&request)) return ReducePlan::softmax(in, out, *softmax, options);
  return ReducePlan::permute(in, out, std::get<Order>(request), options);
}

/// Scratch of exactly the size that a plan asks for, full of garbage.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes) : array_(dense(DType::u8, {static_cast<Index>(bytes)})), bytes_(bytes) {}
  Workspace get() { return {.data = bytes_ == 0 ? nullptr : array_.data(), .bytes = bytes_}; }
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

inline Row row_at(const Array& in, Index base, const std::vector<Index>& inner) {
  Row row;
  row.reserve(inner.size());
  for (const Index offset : inner) row.push_back(in.get(base + offset));
  return row;
}

inline std::vector<Expected> expected_of(const ReduceSpec& spec, const Array& in, const ViewDesc& out) {
  const auto reduced_flags = reduced_axes(in.desc().rank(), spec.axes);
  const auto bases = offsets_of(in.desc(), reduced_flags, false), inner = offsets_of(in.desc(), reduced_flags, true);
  const auto places = offsets(out.sizes, out.strides);
  const Precision precision = precision_of(in.desc().dtype, spec.accumulate, out.dtype);
  std::vector<Expected> list;
  for (std::size_t k = 0; k < bases.size(); ++k) {
    const Row row = row_at(in, bases[k], inner);
    const Real value = reduced(spec, in.desc().dtype, row);
    const Real bound = is_floating(out.dtype) ? reduce_bound(spec, precision, row, value) : 0;
    list.push_back({.place = places[k], .value = value, .bound = bound});
  }
  return list;
}

inline std::vector<Expected> expected_of(const SoftmaxSpec& spec, const Array& in, const ViewDesc& out) {
  const auto flags = reduced_axes(in.desc().rank(), spec.axes);
  const auto bases = offsets_of(in.desc(), flags, false), inner = offsets_of(in.desc(), flags, true);
  const auto out_bases = offsets_of(out, flags, false), out_inner = offsets_of(out, flags, true);
  const Precision precision = precision_of(in.desc().dtype, DType::best, out.dtype);
  std::vector<Expected> list;
  for (std::size_t k = 0; k < bases.size(); ++k) {
    const Row row = row_at(in, bases[k], inner);
    const Row values = softmax_of(spec, row);
    const SoftmaxFacts facts = softmax_facts(spec, precision, row);
    for (std::size_t i = 0; i < row.size(); ++i)
      list.push_back({.place = out_bases[k] + out_inner[i],
                      .value = values[i],
                      .bound = softmax_bound(spec, precision, facts, row[i], values[i])});
  }
  return list;
}

inline std::vector<Expected> expected_of(const Order& order, const Array& in, const ViewDesc& out) {
  std::vector<Index> strides;
  for (const int axis : order.axes)
    strides.push_back(in.desc().strides[static_cast<std::size_t>(axis < 0 ? axis + in.desc().rank() : axis)]);
  const auto sources = offsets(out.sizes, strides), places = offsets(out.sizes, out.strides);
  std::vector<Expected> list;
  for (std::size_t i = 0; i < places.size(); ++i)
    list.push_back({.place = places[i], .value = in.get(sources[i]), .bound = 0});
  return list;
}

/// NaN equals NaN; the sign of a zero counts where the result is one of the elements.
inline bool is_same(Real a, Real b, bool sign_counts) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && (!sign_counts || a != 0 || std::signbit(a) == std::signbit(b));
}

/// Compares every element; returns what the first wrong one is, or nothing.
inline std::string judge(const std::vector<Expected>& list, const Array& out, bool exact, bool sign_counts,
                         Real& worst) {
  const DType type = out.desc().dtype;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Real got = out.get(list[i].place), want = stored(type, list[i].value);
    if (is_same(got, want, sign_counts)) continue;
    const Real error = std::fabs(got - list[i].value);
    const bool within = !exact && list[i].bound > 0 && error <= list[i].bound;
    if (!exact && list[i].bound > 0) worst = std::max(worst, error / list[i].bound);
    if (within) continue;
    std::ostringstream text;
    text.precision(20);
    text << "element " << i << " of " << list.size() << " is " << got << ", not " << list[i].value << " ± "
         << (exact ? 0 : list[i].bound);
    return text.str();
  }
  return {};
}

inline bool sign_counts(const AnyRequest& request) {
  const auto* reduce = std::get_if<ReduceSpec>(&request);
  return reduce != nullptr ? reduce->op == ReduceOp::max || reduce->op == ReduceOp::min || reduce->op == ReduceOp::linf
                           : std::holds_alternative<Order>(request);
}

/// Plans, runs and compares. `out` may be `in` itself: then the softmax is done in place.
inline Outcome check(const AnyRequest& request, Array& in, Array& out, const How& how = {}) {
  Outcome outcome;
  const auto plan = plan_for(request, in.desc(), out.desc(), how.options);
  if (!plan) {
    outcome.status = plan.error();
    outcome.failure = "refused: " + outcome.status.message();
    return outcome;
  }
  outcome.strategy = plan->strategy();
  const auto expected = std::visit([&](const auto& spec) { return expected_of(spec, in, out.desc()); }, request);
  const std::optional<Array> before = &in == &out ? std::nullopt : std::optional<Array>(in);
  Scratch scratch(plan->workspace_bytes());
  outcome.status = plan->run(in.data(), out.data(), scratch.get(), {.handle = nullptr, .workers = how.workers});
  if (!outcome.status) outcome.failure = "run: " + outcome.status.message();
  if (outcome.failure.empty()) outcome.failure = judge(expected, out, how.exact, sign_counts(request), outcome.worst);
  if (outcome.failure.empty() && before && !(*before == in)) outcome.failure = "the input was written to";
  if (outcome.failure.empty() && !out.gaps_untouched()) outcome.failure = "bytes outside the output were written";
  if (outcome.failure.empty() && !scratch.margins_untouched()) outcome.failure = "the workspace's margins were written";
  if (!outcome.failure.empty()) outcome.failure += "\n" + plan->explain();
  return outcome;
}

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
