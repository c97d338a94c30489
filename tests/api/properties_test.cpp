// Laws that need no reference: the same elements said in another way give the same answer.
#include "tests/support/compare.h"
#include "tests/support/generators.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace ndfold::test {
namespace {

Array filled(const ViewDesc& view, Values values, std::uint64_t seed) {
  Array array(view);
  fill(array, values, seed);
  return array;
}

// Runs through the free functions, and gives the elements in row-major order.
Row results(const AnyRequest& request, const ConstTensorView& in) {
  ViewDesc desc = dense(in.desc.dtype, in.desc.sizes);
  Status status;
  if (const auto* spec = std::get_if<ReduceSpec>(&request)) desc = output_desc(in.desc, *spec).value();
  Array out(desc);
  if (const auto* spec = std::get_if<ReduceSpec>(&request)) status = reduce(in, out.view(), *spec);
  if (const auto* spec = std::get_if<SoftmaxSpec>(&request)) status = softmax(in, out.view(), *spec);
  RC_ASSERT(status.ok());
  return row_at(out, 0, out.elements());
}

ReduceOp any_exact_op() {
  return *rc::gen::element(ReduceOp::sum, ReduceOp::max, ReduceOp::min, ReduceOp::l1, ReduceOp::count_nonzero,
                           ReduceOp::sumsq, ReduceOp::any, ReduceOp::all, ReduceOp::linf);
}

bool all_near(const Row& a, const Row& b, Real tolerance) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::fabs(a[i] - b[i]) > tolerance * (1 + std::fabs(b[i]))) return false;
  return true;
}

RC_GTEST_PROP(properties, reductions_agree_with_the_reference, ()) {
  const Sample sample = *any_sample(DType::f32);
  Array in = filled(sample.view, Values::mixed, sample.seed);
  const auto op = static_cast<ReduceOp>(*rc::gen::inRange(0, kReduceOpCount));
  if (op == ReduceOp::prod) fill(in, Values::factors);
  const ReduceSpec spec{.op = op, .axes = AxisSet(sample.axes)};
  Array out(dense(default_output(op, DType::f32), output_sizes(sample.view.sizes, spec.axes)));
  RC_ASSERT(check(spec, in, out).failure == "");
}

RC_GTEST_PROP(properties, softmax_agrees_with_the_reference, ()) {
  const Sample sample = *any_sample(DType::f32, 6, 0);
  Array in = filled(sample.view, Values::mixed, sample.seed);
  Array out(lay_out(DType::f32, sample.view.sizes,
                    *rc::gen::element(Layout::row_major, Layout::permuted, Layout::reversed), sample.seed));
  const SoftmaxSpec spec{.axes = AxisSet(sample.axes),
                         .kind = *rc::gen::element(SoftmaxKind::softmax, SoftmaxKind::log_softmax)};
  RC_ASSERT(check(spec, in, out).failure == "");
}

// Reordering the axes of the input reorders the answer, and no more.
RC_GTEST_PROP(properties, permuting_axes, ()) {
  const Sample sample = *any_sample(DType::f32);
  const Array in = filled(sample.view, Values::whole, sample.seed);
  const auto order = random_order(sample.view.sizes.size(), sample.seed + 1);
  ViewDesc turned = sample.view;
  std::vector<int> axes;
  for (std::size_t i = 0; i < order.size(); ++i) {
    turned.sizes[i] = sample.view.sizes[order[i]], turned.strides[i] = sample.view.strides[order[i]];
    if (std::count(sample.axes.begin(), sample.axes.end(), static_cast<int>(order[i])) > 0)
      axes.push_back(static_cast<int>(i));
  }
  const ReduceOp op = any_exact_op();
  Row before = results(ReduceSpec{.op = op, .axes = AxisSet(sample.axes)}, in.view());
  Row after = results(ReduceSpec{.op = op, .axes = AxisSet(axes)}, {in.data(), turned});
  std::sort(before.begin(), before.end()), std::sort(after.begin(), after.end());
  RC_ASSERT(before == after);
}

RC_GTEST_PROP(properties, splitting_an_axis, ()) {
  const Index outer = *rc::gen::inRange<Index>(1, 20), inner = *rc::gen::inRange<Index>(1, 50);
  const Index rest = *rc::gen::inRange<Index>(1, 20);
  const Array in = filled(dense(DType::f32, {outer * inner, rest}), Values::whole, 5);
  const ReduceOp op = any_exact_op();
  const auto joined = results(ReduceSpec{.op = op, .axes = {0}}, in.view());
  const auto split =
      results(ReduceSpec{.op = op, .axes = {1, 0}}, {in.data(), dense(DType::f32, {outer, inner, rest})});
  RC_ASSERT(joined == split);
  const auto soft = results(SoftmaxSpec{.axes = {0}}, in.view());
  const auto soft_split = results(SoftmaxSpec{.axes = {0, 1}}, {in.data(), dense(DType::f32, {outer, inner, rest})});
  RC_ASSERT(soft == soft_split);  // one canonical form, so one schedule and the same bits
}

RC_GTEST_PROP(properties, inserting_axes_of_size_1, ()) {
  const Sample sample = *any_sample(DType::f32);
  const Array in = filled(sample.view, Values::mixed, sample.seed);
  ViewDesc longer = sample.view;
  const auto at = *rc::gen::inRange<std::size_t>(0, sample.view.sizes.size() + 1);
  longer.sizes.insert(longer.sizes.begin() + static_cast<std::ptrdiff_t>(at), 1);
  longer.strides.insert(longer.strides.begin() + static_cast<std::ptrdiff_t>(at), *rc::gen::arbitrary<Index>());
  std::vector<int> axes = sample.axes;
  for (int& axis : axes) axis += static_cast<std::size_t>(axis) >= at;
  if (*rc::gen::arbitrary<bool>()) axes.push_back(static_cast<int>(at));
  RC_ASSERT(results(SoftmaxSpec{.axes = AxisSet(sample.axes)}, in.view()) ==
            results(SoftmaxSpec{.axes = AxisSet(axes)}, {in.data(), longer}));
}

RC_GTEST_PROP(properties, keep_axes_changes_only_the_shape, ()) {
  const Sample sample = *any_sample(DType::f32);
  const Array in = filled(sample.view, Values::mixed, sample.seed);
  RC_ASSERT(results(ReduceSpec{.op = ReduceOp::sum, .axes = AxisSet(sample.axes)}, in.view()) ==
            results(ReduceSpec{.op = ReduceOp::sum, .axes = AxisSet(sample.axes), .keep_axes = true}, in.view()));
}

RC_GTEST_PROP(properties, reading_backwards, ()) {
  const Index rows = *rc::gen::inRange<Index>(1, 30), n = *rc::gen::inRange<Index>(1, 200);
  const Array in = filled(dense(DType::f32, {rows, n}), Values::whole, 9);
  const ViewDesc backwards{.dtype = DType::f32, .sizes = {rows, n}, .strides = {n, -1}};
  const ConstTensorView reversed{static_cast<const float*>(in.data()) + (n - 1), backwards};
  const ReduceOp op = any_exact_op();
  RC_ASSERT(results(ReduceSpec{.op = op, .axes = {1}}, in.view()) ==
            results(ReduceSpec{.op = op, .axes = {1}}, reversed));
  Row forward = results(SoftmaxSpec{.axes = {0}}, in.view());
  const Row backward = results(SoftmaxSpec{.axes = {0}}, reversed);
  for (Index row = 0; row < rows; ++row) std::reverse(forward.begin() + row * n, forward.begin() + (row + 1) * n);
  RC_ASSERT(all_near(forward, backward, 1e-5L));
}

// A fold of a whole is the fold of the folds of its parts.
RC_GTEST_PROP(properties, concatenation_is_combination, ()) {
  const Index rows = *rc::gen::inRange<Index>(1, 10), n = *rc::gen::inRange<Index>(2, 3000);
  const Index cut = *rc::gen::inRange<Index>(1, n);
  const Array in = filled(dense(DType::f32, {rows, n}), Values::whole, 11);
  const ReduceOp op = *rc::gen::element(ReduceOp::sum, ReduceOp::max, ReduceOp::min);
  const ReduceSpec spec{.op = op, .axes = {1}};
  const ViewDesc first{.dtype = DType::f32, .sizes = {rows, cut}, .strides = {n, 1}};
  const ViewDesc second{.dtype = DType::f32, .sizes = {rows, n - cut}, .strides = {n, 1}};
  const Row whole = results(spec, in.view());
  const Row a = results(spec, {in.data(), first});
  const Row b = results(spec, {static_cast<const float*>(in.data()) + cut, second});
  for (std::size_t i = 0; i < whole.size(); ++i)
    RC_ASSERT(whole[i] == reduced({.op = op, .axes = {0}}, DType::f32, {a[i], b[i]}));
}

RC_GTEST_PROP(properties, softmax_sums_to_one, ()) {
  const Sample sample = *any_sample(DType::f32);
  const Array in = filled(sample.view, Values::mixed, sample.seed);
  Array soft(dense(DType::f32, sample.view.sizes));
  RC_ASSERT(softmax(in.view(), soft.view(), {.axes = AxisSet(sample.axes)}).ok());
  for (const Real sum : results(ReduceSpec{.op = ReduceOp::sum, .axes = AxisSet(sample.axes)}, soft.view()))
    RC_ASSERT(std::fabs(sum - 1) < 1e-4L);
}

RC_GTEST_PROP(properties, logsumexp_lies_between_max_and_max_plus_log_n, ()) {
  const Sample sample = *any_sample(DType::f32);
  const Array in = filled(sample.view, Values::mixed, sample.seed);
  const AxisSet axes(sample.axes);
  const Row max = results(ReduceSpec{.op = ReduceOp::max, .axes = axes}, in.view());
  const Row lse = results(ReduceSpec{.op = ReduceOp::logsumexp, .axes = axes}, in.view());
  const Real n = static_cast<Real>(in.elements().size()) / static_cast<Real>(max.size());
  for (std::size_t i = 0; i < max.size(); ++i) {
    RC_ASSERT(lse[i] >= max[i] - 1e-5L);
    RC_ASSERT(lse[i] <= max[i] + std::log(n) + 1e-4L);
  }
}

RC_GTEST_PROP(properties, exp_of_log_softmax_is_softmax, ()) {
  const Sample sample = *any_sample(DType::f32);
  const Array in = filled(sample.view, Values::mixed, sample.seed);
  const AxisSet axes(sample.axes);
  const Row logs = results(SoftmaxSpec{.axes = axes, .kind = SoftmaxKind::log_softmax}, in.view());
  RC_ASSERT(
      all_near(mapped(logs, [](Real x) { return std::exp(x); }), results(SoftmaxSpec{.axes = axes}, in.view()), 1e-4L));
}

}  // namespace
}  // namespace ndfold::test
