// Plans, runs, and compares with the reference.
#include "tests/support/compare.h"

namespace ndfold::test {

Result<ReducePlan> plan_for(const AnyRequest& request, const ViewDesc& in, const ViewDesc& out,
                            const PlanOptions& options) {
  if (const auto* reduce = std::get_if<ReduceSpec>(&request)) return ReducePlan::reduce(in, out, *reduce, options);
  if (const auto* softmax = std::get_if<SoftmaxSpec>(&request)) return ReducePlan::softmax(in, out, *softmax, options);
  return ReducePlan::permute(in, out, std::get<Order>(request), options);
}

Row row_at(const Array& in, Index base, const std::vector<Index>& inner) {
  Row row;
  row.reserve(inner.size());
  for (const Index offset : inner) row.push_back(in.get(base + offset));
  return row;
}

std::vector<Expected> expected_of(const ReduceSpec& spec, const Array& in, const ViewDesc& out) {
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

std::vector<Expected> expected_of(const SoftmaxSpec& spec, const Array& in, const ViewDesc& out) {
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

std::vector<Expected> expected_of(const Order& order, const Array& in, const ViewDesc& out) {
  std::vector<Index> strides;
  for (const int axis : order.axes)
    strides.push_back(in.desc().strides[static_cast<std::size_t>(axis < 0 ? axis + in.desc().rank() : axis)]);
  const auto sources = offsets(out.sizes, strides), places = offsets(out.sizes, out.strides);
  std::vector<Expected> list;
  for (std::size_t i = 0; i < places.size(); ++i)
    list.push_back({.place = places[i], .value = in.get(sources[i]), .bound = 0});
  return list;
}

std::string judge(const std::vector<Expected>& list, const Array& out, bool exact, bool sign_counts, Real& worst) {
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

Outcome check(const AnyRequest& request, Array& in, Array& out, const How& how) {
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
  {
    const Fence around_in(in), around_out(out), around_scratch(scratch.array());
    outcome.status = plan->run(in.data(), out.data(), scratch.get(), {.handle = nullptr, .workers = how.workers});
  }
  if (!outcome.status) outcome.failure = "run: " + outcome.status.message();
  if (outcome.failure.empty()) outcome.failure = judge(expected, out, how.exact, sign_counts(request), outcome.worst);
  if (outcome.failure.empty() && before && !(*before == in)) outcome.failure = "the input was written to";
  if (outcome.failure.empty() && !out.gaps_untouched()) outcome.failure = "bytes outside the output were written";
  if (outcome.failure.empty() && !scratch.margins_untouched()) outcome.failure = "the workspace's margins were written";
  if (!outcome.failure.empty()) outcome.failure += "\n" + plan->explain();
  return outcome;
}

}  // namespace ndfold::test
