// The cost model against what was measured and what is known: it need not be right, but it must rank.
#include "plans/cost.h"

#include "plans/cost_tables.h"
#include "tests/plans/problems.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ndfold::test {
namespace {

const DeviceFacts kH200 = DeviceFacts::h200();

double time_of(const Request& request, const char* strategy) { return plan(forced(request, strategy)).microseconds; }

struct Measured {
  const char* strategy;
  Dims sizes;
  AxisSet axes;
  double microseconds;  // docs/measurements/h200-facts.md#tiles-that-stay-on-the-chip
};

TEST(Cost, IsNearWhatWasMeasured) {
  const Dims mid = {64, 512, 4096}, nhwc = {32, 64, 64, 512}, tall = {16384, 4096};
  const Measured rows[] = {
      {"rows_in_block", {16384, 4096}, {1}, 133}, {"rows_in_block", {4096, 32768}, {1}, 268},
      {"rows_in_block", {512, 262144}, {1}, 425}, {"rows_in_grid", {512, 262144}, {1}, 322},
      {"columns_in_block", mid, {1}, 273},        {"columns_in_block", {16, 1500, 4096}, {1}, 228},
      {"columns_in_cluster", nhwc, {1, 2}, 178},  {"columns_in_grid", {4096, 16384}, {0}, 177},
      {"columns_in_grid", tall, {0}, 189},        {"columns_in_cluster", {4096, 16384}, {0}, 188},
  };
  constexpr double kWithin = 0.15;
  for (const Measured& row : rows) {
    const double estimate = time_of(softmax_of(row.sizes, row.axes, kH200), row.strategy);
    EXPECT_NEAR(estimate / row.microseconds, 1, kWithin) << row.strategy << " " << estimate << " " << row.microseconds;
  }
}

TEST(Cost, NeverPromisesMoreThanTheBusGives) {
  for (const DeviceFacts& device : {fixed_host(), kH200, DeviceFacts::a100()})
    for (const Dims& sizes : {Dims{Index{1} << 20, 64}, Dims{4096, 32768}, Dims{64, 512, 4096}, Dims{32768, 8192}})
      for (int axis = 0; axis < static_cast<int>(sizes.size()); ++axis) {
        const Request request = softmax_of(sizes, {axis}, device);
        const Problem problem = make_problem(request).value();
        const double floor = (problem.bytes_in() + problem.bytes_out()) / (device.copy_gigabytes_per_second * 1e3);
        EXPECT_GT(plan(request).microseconds, floor);
      }
}

TEST(Cost, FusedPathsBeatTheChainAndTheCopy) {
  for (const DeviceFacts& device : {fixed_host(), kH200, DeviceFacts::a100()})
    for (const Request& request :
         {softmax_of({65536, 1024}, {1}, device), softmax_of({64, 512, 4096}, {1}, device),
          softmax_of({128, 256, 2048}, {0, 2}, device), softmax_of({16, 64, 32, 2048}, {1, 3}, device)}) {
      const Choice choice = plan(request);
      EXPECT_LT(choice.microseconds, time_of(request, "permute_then_rows"));
      EXPECT_LT(choice.microseconds, time_of(request, "softmax_chain"));
    }
}

TEST(Cost, GrowsWithTheData) {
  for (const DeviceFacts& device : {fixed_host(), kH200, DeviceFacts::a100()}) {
    double last = 0;
    for (Index rows = 1024; rows <= (Index{1} << 22); rows *= 4) {
      const double now = plan(softmax_of({rows, 1024}, {1}, device)).microseconds;
      EXPECT_GT(now, last);
      last = now;
    }
  }
}

TEST(Cost, WideRunsAreWorthIt) {
  const auto slices_of = [](Index columns) {  // of rows 4 KiB apart
    ViewDesc view = dense(DType::f32, {262144 / columns, 512, columns});
    view.strides = {512 * 1024, 1024, 1};
    return time_of(softmax_of(view, {1}, kH200), "columns_in_block");
  };
  EXPECT_LT(slices_of(64), slices_of(16));  // 256 bytes, 64 bytes
  EXPECT_LT(slices_of(16), slices_of(4));   // 16 bytes
  for (std::size_t i = 1; i < std::size(kReadByRun); ++i) {
    EXPECT_GT(kReadByRun[i].up_to, kReadByRun[i - 1].up_to);
    EXPECT_GE(kReadByRun[i].value, kReadByRun[i - 1].value);
    EXPECT_GE(kCopyByRun[i].value, kCopyByRun[i - 1].value);
  }
}

TEST(Cost, AFewBlocksCannotFillTheBus) {
  const double one = time_of(softmax_of({1, Index{1} << 22}, {1}, kH200), "rows_in_block");
  const double all = time_of(softmax_of({1, Index{1} << 22}, {1}, kH200), "rows_in_grid");
  EXPECT_GT(one, 20 * all);
}

TEST(Cost, StairsTakeTheFirstStepThatIsHighEnough) {
  EXPECT_EQ(on_stairs(kReadByRun, 16), 0.33);
  EXPECT_EQ(on_stairs(kReadByRun, 17), 0.60);
  EXPECT_EQ(on_stairs(kReadByRun, 1e9), 1.0);
  EXPECT_EQ(on_stairs(kRowShareByCluster, 1000), 0.55);
}

TEST(Cost, RanksEveryHostAlike) {
  DeviceFacts fast = fixed_host();
  fast.multiprocessors = 512;
  EXPECT_EQ(ranking_facts(fast), ranking_facts(fixed_host()));
  EXPECT_EQ(ranking_facts(kH200), kH200);
}

}  // namespace
}  // namespace ndfold::test
