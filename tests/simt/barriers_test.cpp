// Every barrier of the kernels carries weight: the simulator leaves each of them out, one at a time, and must notice.
#include "tests/simt/forced.h"
#include "tests/simt/memory.h"

namespace simt {
namespace {

struct Case {
  AnyRequest request;
  const char* strategy;
  Sizes sizes, out_sizes;
  Index out_shift = 0, in_shift = 1;
  DeviceFacts device = tight(2);
};

const ReduceSpec kSumLast{.op = ReduceOp::sum, .axes = {1}};

// Together they reach every barrier. Few blocks go round several times: what a barrier protects is often the next
// round.
const Case kCases[] = {
    {kSumLast, "rows_in_block", {7, 600}, {7}},
    {kSumLast, "columns_in_block", {5, 70, 40}, {5, 40}},
    {kSumLast, "rows_in_cluster", {5, 3000}, {5}},
    {kSumLast, "columns_in_cluster", {4, 90, 40}, {4, 40}},
    {ReduceSpec{.op = ReduceOp::argmax, .axes = {1}}, "columns_in_cluster", {2, 40, 300}, {2, 300}},
    {ReduceSpec{.op = ReduceOp::argmax, .axes = {1}}, "columns_in_block", {5, 70, 40}, {5, 40}},
    {ReduceSpec{.op = ReduceOp::sum, .axes = {0, 2}}, "columns_in_block", {5, 3, 8, 64}, {3, 64}},
    {ReduceSpec{.op = ReduceOp::sum, .axes = {0, 2}}, "rows_in_block", {4100, 5, 4}, {5}},
    {kSumLast, "columns_in_block", {5, 700, 3}, {5, 3}},
    {kSumLast, "columns_in_block", {5, 70, 65}, {5, 65}},
    {kSumLast, "rows_in_bundles", {9000, 7}, {9000}},
    {SoftmaxSpec{.axes = {1}}, "rows_in_bundles", {9000, 7}, {9000, 7}},
    {SoftmaxSpec{.axes = {1}}, "rows_in_bundles", {30, 1100}, {30, 1100}},
    {SoftmaxSpec{.axes = {1}}, "rows_in_bundles", {60, 7}, {60, 7}},
    {SoftmaxSpec{.axes = {1}}, "columns_in_block", {5, 40, 65}, {5, 40, 65}},
    {SoftmaxSpec{.axes = {0, 2}}, "columns_in_block", {5, 3, 8, 65}, {5, 3, 8, 65}},
    {SoftmaxSpec{.axes = {1, 3}}, "rows_in_lanes", {9, 3, 5, 28}, {9, 3, 5, 28}},
    {SoftmaxSpec{.axes = {1, 3}}, "rows_in_lanes", {9, 3, 5, 31}, {9, 3, 5, 31}, 1},
    {SoftmaxSpec{.axes = {1}}, "rows_in_cluster", {7, 9000}, {7, 9000}},
    {SoftmaxSpec{.axes = {1}}, "columns_in_cluster", {3, 1300, 64}, {3, 1300, 64}, 0, 0, small(DeviceFacts::h200(), 2)},
    {SoftmaxSpec{.axes = {1}}, "rows_in_grid", {7, 6000}, {7, 6000}},
    {SoftmaxSpec{.axes = {1}}, "columns_in_grid", {3, 200, 40}, {3, 200, 40}},
    {SoftmaxSpec{.axes = {1}}, "rows_in_grid", {6, 17024}, {6, 17024}, 0, 0, small(DeviceFacts::h200(), 2)},
    {SoftmaxSpec{.axes = {1}}, "rows_in_grid", {3, 90000}, {3, 90000}, 0, 0, small(DeviceFacts::h200(), 2)},
    {SoftmaxSpec{.axes = {0}}, "columns_in_grid", {1500, 140}, {1500, 140}, 0, 0, small(DeviceFacts::h200(), 2)},
    {SoftmaxSpec{.axes = {0}}, "columns_in_grid", {1500, 141}, {1500, 141}, 0, 0, without_cache(2)},
    {SoftmaxSpec{.axes = {1}}, "columns_in_block", {3, 40, 603}, {3, 40, 603}, 0, 0, without_cache(1)},
    {Order{{1, 0}}, "copy", {90, 130}, {130, 90}}};

Judged run_without(const Case& item, const Site* site, std::uint64_t seed) {
  Array in(dense(DType::f32, item.sizes), item.in_shift);
  const bool index =
      std::holds_alternative<ReduceSpec>(item.request) && std::get<ReduceSpec>(item.request).op == ReduceOp::argmax;
  Array out(dense(index ? DType::i64 : DType::f32, item.out_sizes), item.out_shift);
  fill(in, Values::mixed);
  const PlanOptions plan{.device = item.device, .strategy = item.strategy};
  return simulate(item.request, in, out, plan, {.seed = seed, .skip = site, .most_y = 2});
}

TEST(barriers, each_is_missed) {
  if (!sees_accesses()) GTEST_SKIP() << "the address sanitizer knows nothing of barriers";
  std::set<Site> all, missed;
  for (const Case& item : kCases) {
    const Judged whole = run_without(item, nullptr, 1);
    ASSERT_EQ(whole.failure, "") << item.strategy;
    all.insert(whole.barriers.begin(), whole.barriers.end());
    for (const Site& site : whole.barriers)
      for (std::uint64_t seed = 1; seed <= 3 && !missed.contains(site); ++seed)
        if (!run_without(item, &site, seed).failure.empty()) missed.insert(site);
  }
  EXPECT_GE(all.size(), 16u);
  for (const Site& site : all)
    EXPECT_TRUE(missed.contains(site)) << site.file << ':' << site.line << " changes nothing";
}

}  // namespace
}  // namespace simt
