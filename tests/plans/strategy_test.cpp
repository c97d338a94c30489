// The strategy table: every row is chosen somewhere, refused somewhere with its reason, and can be forced by name.
#include "plans/build/steps.h"
#include "tests/plans/launch_limits.h"
#include "tests/plans/problems.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

const DeviceFacts kHost = fixed_host();
const DeviceFacts kH200 = DeviceFacts::h200();
const DeviceFacts kA100 = DeviceFacts::a100();

constexpr Index kMillion = Index{1} << 20;

struct Chosen {
  const char* strategy;
  Request request;
};

// Elements 32 bytes apart, rows too long for the chip: to read them once and copy is cheaper than to read them twice.
Request scattered_rows() {
  ViewDesc view = dense(DType::f32, {64, 16 * kMillion});
  view.strides = {128 * kMillion, 8};
  return softmax_of(view, {1}, kH200);
}

// Lines of every other element, of whole packs otherwise: more than lanes take.
Request stepped_columns() {
  ViewDesc view = dense(DType::f32, {5000, 64, 128});
  view.strides = {64 * 256, 256, 2};
  return reduce_of(ReduceOp::sum, view, {1}, kH200);
}

// The last two axes change places.
Request transposed(Dims sizes, AxisSet axes, const DeviceFacts& device = kHost) {
  const std::size_t last = sizes.size() - 1;
  Dims stored = sizes;
  std::swap(stored[last], stored[last - 1]);
  ViewDesc view = dense(DType::f32, std::move(stored));
  view.sizes = std::move(sizes);
  std::swap(view.strides[last], view.strides[last - 1]);
  return softmax_of(std::move(view), std::move(axes), device);
}

// So many elements between the lines of the last axis.
ViewDesc with_gaps(DType type, Dims sizes, Index gap) {
  const Index last = sizes.back();
  sizes.back() += gap;
  ViewDesc view = dense(type, std::move(sizes));
  view.sizes.back() = last;
  return view;
}

// The first three of every four.
Request of_three_channels(Dims sizes, AxisSet axes, const DeviceFacts& device = kHost, ReduceOp op = ReduceOp::sum) {
  sizes.back() = 3;
  return reduce_of(op, with_gaps(DType::f32, std::move(sizes), 1), std::move(axes), device);
}

// Kept axes that are neighbours, and whose results are not.
Request of_turned_columns() {
  ViewDesc view = dense(DType::f64, {5000, 24, 2});
  std::swap(view.sizes[1], view.sizes[2]);
  std::swap(view.strides[1], view.strides[2]);
  return reduce_of(ReduceOp::argmax, std::move(view), {0}, kHost);
}

Request of_turned_lines() {
  ViewDesc view = dense(DType::bf16, {900, 3000, 22, 6});
  std::swap(view.sizes[2], view.sizes[3]);
  std::swap(view.strides[2], view.strides[3]);
  return reduce_of(ReduceOp::sum, std::move(view), {0}, kH200);
}

std::vector<Chosen> chosen_rows() {
  return {
      {"nothing", sum_of({0, 4}, {0}, kHost)},
      {"nothing", softmax_of({4, 0}, {1}, kH200)},
      {"copy", sum_of({8, 8}, AxisSet::none(), kHost)},
      {"copy", permute_of(dense(DType::f32, {4, 5}), {1, 0}, kA100)},
      {"rows_in_bundles", softmax_of({kMillion, 17}, {1}, kH200)},
      {"rows_in_bundles", sum_of({kMillion, 3}, {1}, kA100)},
      {"rows_in_lanes", softmax_of({kMillion, 64}, {1}, kH200)},
      {"rows_in_lanes", sum_of({kMillion, 512}, {1}, kA100)},
      {"rows_in_bundles", reduce_of(ReduceOp::argmax, dense(DType::bf16, {kMillion, 65}), {1}, kH200)},
      {"rows_in_lanes", reduce_of(ReduceOp::argmax, dense(DType::bf16, {671088, 100}), {1}, kH200)},
      {"rows_in_lanes", reduce_of(ReduceOp::logsumexp, dense(DType::bf16, {64, 64, 64, 256}), {1, 3}, kH200)},
      {"rows_in_block", reduce_of(ReduceOp::var, dense(DType::bf16, {64, 512, 3025}), {0, 2}, kH200)},
      {"rows_in_lanes", reduce_of(ReduceOp::max, dense(DType::f32, {512, 31, 128, 33}), {1, 3}, kH200)},
      {"rows_in_lanes", reduce_of(ReduceOp::sum, dense(DType::f32, {64, 500, 128, 20}), {1, 3}, kH200)},
      {"rows_in_lanes", reduce_of(ReduceOp::sum, with_gaps(DType::f32, {50000, 100, 4}, 24), {1, 2}, kH200)},
      {"rows_in_lanes", reduce_of(ReduceOp::var, with_gaps(DType::bf16, {kMillion, 16}, 24), {1}, kH200)},
      {"rows_in_lanes", reduce_of(ReduceOp::var, with_gaps(DType::bf16, {kMillion, 28}, 24), {1}, kH200)},
      {"rows_in_block", softmax_of(with_gaps(DType::f32, {70307, 197, 3}, 24), {1, 2}, kH200)},
      {"rows_in_block", reduce_of(ReduceOp::argmax, dense(DType::f16, {5125, 10000}), {1}, kH200)},
      {"rows_in_block", softmax_of({16384, 4096}, {1}, kH200)},
      {"rows_in_block", softmax_of({16384, 4096}, {1}, kHost)},
      {"rows_in_block", softmax_of({16, kMillion}, {1}, kHost)},
      {"rows_in_block", softmax_of({4096, 32768}, {1}, kH200)},
      {"rows_in_cluster", softmax_of({2048, 65536}, {1}, kH200)},
      {"rows_in_grid", softmax_of({64, kMillion}, {1}, kH200)},
      {"rows_in_grid", softmax_of({827, 7, 6, 1023}, {0, 2, 3}, kH200)},
      {"rows_in_grid", softmax_of({4, kMillion}, {1}, kA100)},
      {"columns_in_bundles", sum_of({kMillion, 65, 3}, {1}, kH200)},
      {"columns_in_bundles", reduce_of(ReduceOp::var, dense(DType::f16, {100000, 2, 80, 2, 2}), {1, 3}, kA100)},
      {"columns_in_bundles", reduce_of(ReduceOp::argmax, dense(DType::bf16, {174762, 3, 128}), {1}, kH200)},
      {"columns_in_bundles", reduce_of(ReduceOp::var, dense(DType::bf16, {16384, 64, 64}), {1}, kH200)},
      {"columns_in_bundles", sum_of({40000, 100, 8}, {1}, kH200)},
      {"columns_in_bundles", reduce_of(ReduceOp::var, dense(DType::f32, {16384, 128, 16}), {1}, kH200)},
      {"columns_in_bundles", softmax_of({kMillion, 5, 3}, {1}, kH200)},
      {"columns_in_bundles", softmax_of({4096, 1025, 17}, {1}, kH200)},
      {"columns_in_lanes", reduce_of(ReduceOp::sum, dense(DType::i32, {kMillion, 65, 3}), {1}, kH200)},
      {"columns_in_lanes", reduce_of(ReduceOp::argmax, dense(DType::f32, {688, 49, 2047}), {1}, kH200)},
      {"columns_in_block", reduce_of(ReduceOp::argmax, dense(DType::f16, {688, 49, 2047}), {1}, kH200)},
      {"columns_in_block", reduce_of(ReduceOp::logsumexp, dense(DType::bf16, {65, 65, 2, 17, 513}), {1}, kH200)},
      {"columns_in_block", reduce_of(ReduceOp::logsumexp, dense(DType::bf16, {85, 300, 2047}), {1}, kH200)},
      {"columns_in_block", reduce_of(ReduceOp::sum, dense(DType::bf16, {7595, 49, 224}), {1}, kH200)},
      {"columns_in_block", reduce_of(ReduceOp::var, dense(DType::bf16, {174762, 3, 128}), {1}, kH200)},
      {"columns_in_block", reduce_of(ReduceOp::argmax, dense(DType::bf16, {524288, 8, 16}), {1}, kH200)},
      {"columns_in_block", reduce_of(ReduceOp::sum, dense(DType::bf16, {16384, 64, 64}), {1}, kH200)},
      {"columns_in_block", sum_of({kMillion, 16, 16}, {1}, kH200)},
      {"columns_in_block", sum_of({4096, 1280, 8}, {1}, kH200)},
      {"columns_in_block", reduce_of(ReduceOp::var, dense(DType::f32, {4096, 512, 16}), {1}, kH200)},
      {"columns_in_block", reduce_of(ReduceOp::argmax, dense(DType::bf16, {8192, 512, 16}), {1}, kH200)},
      {"columns_in_block", reduce_of(ReduceOp::var, with_gaps(DType::bf16, {kMillion, 18}, 24), {1}, kH200)},
      {"columns_in_block", stepped_columns()},
      {"columns_in_block", softmax_of({64, 512, 4096}, {1}, kH200)},
      {"columns_in_block", softmax_of({2048, 1500, 16}, {1}, kH200)},
      {"columns_in_block", softmax_of({1468, 5, 5000}, {1}, kH200)},
      {"columns_in_block", softmax_of({64, 512, 4096}, {1}, kHost)},
      {"columns_in_block", softmax_of({64, 1024, 2048}, {1}, kH200)},
      {"columns_in_cluster", softmax_of({32, 2048, 2048}, {1}, kH200)},
      {"columns_in_cluster", sum_of({4096, 512}, {0}, kH200)},
      {"split", sum_of({8192, 256}, {0}, kH200)},
      {"split", reduce_of(ReduceOp::argmax, dense(DType::f32, {4096, 512}), {0}, kH200)},
      {"columns_in_grid", softmax_of({8192, 8192}, {0}, kH200)},
      {"columns_in_grid", softmax_of({16384, 256}, {0}, kH200)},
      {"columns_first", sum_of({4096, 512, 7, 7}, {0, 2, 3}, kH200)},
      {"columns_first", sum_of({kMillion, 12, 6}, {0, 2}, kH200)},
      {"columns_first", sum_of({20000, 256, 5, 3}, {0, 2}, kH200)},
      {"columns_first", softmax_of({kMillion, 12, 6}, {0, 2}, kH200)},
      {"columns_first", reduce_of(ReduceOp::argmax, dense(DType::f16, {35363, 577, 4}), {0, 2}, kH200)},
      {"permute_then_rows", scattered_rows()},
      {"split", sum_of({256 * kMillion}, {0}, kH200)},
      {"split", sum_of({256 * kMillion}, {0}, kHost)},
      {"columns_first", softmax_of({8000, 16, 53, 20}, {0, 1, 3}, kHost)},
      {"columns_first", softmax_of({8000, 100, 3}, {0, 2}, kHost)},
      {"columns_first", sum_of({kMillion, 3, 11}, {0, 2}, kHost)},
      {"split", softmax_of({65536, 4096}, {0}, kH200)},
      {"map_across", transposed({3000, 64, 64}, {1, 2})},
      {"map_across", transposed({92231, 129}, {0})},
      {"map_across", transposed({48, 275945}, {1})},
      {"wide_columns", of_three_channels({64, 256, 256, 3}, {1, 2})},
      {"wide_columns", of_turned_columns()},
      {"wide_columns", of_turned_lines()},
      {"nearest_first", reduce_of(ReduceOp::argmax, dense(DType::f32, {31, 3, 1024, 196}), {0, 2}, kH200)},
      {"nearest_first", reduce_of(ReduceOp::logsumexp, dense(DType::bf16, {12, 695, 10000}), {0, 2}, kH200)},
      {"rows_in_lanes", reduce_of(ReduceOp::var, dense(DType::bf16, {12, 2047, 26, 2, 65}), {0, 3, 4}, kH200)},
      {"rows_in_lanes", sum_of({127, 32, 64, 129}, {1, 3}, kH200)},
      {"rows_in_lanes", sum_of({128, 16, 64, 256}, {1, 3}, kH200)},
      {"split", softmax_of({4, 16 * kMillion}, {1}, kA100)},
  };
}

TEST(Strategies, EveryRowIsChosenWhereItBelongs) {
  for (const Chosen& row : chosen_rows()) EXPECT_EQ(plan(row.request).strategy, row.strategy);
}

// Rows of runs share a warp, as few lanes each as their packs keep busy; few rows have as many as keep a GPU busy.
TEST(Strategies, LanesOfRuns) {
  const auto lanes_of = [](Dims sizes) {
    Request request = sum_of(std::move(sizes), {1, 3}, kH200);
    request.options.strategy = "rows_in_lanes";
    return plan(request).schedule.steps[0].kernel.tuning.lanes_per_row;
  };
  EXPECT_EQ(lanes_of({992, 16, 64, 33}), 4);
  EXPECT_EQ(lanes_of({126, 64, 64, 65}), 32);
  EXPECT_EQ(lanes_of({512, 64, 64, 16}), 16);
  EXPECT_EQ(lanes_of({16, 16, 64, 33}), 32);
}

// No one is meant to want the literal chain: its place is to be forced, and to be there when nothing else can.
TEST(Strategies, TheCoveringListIsComplete) {
  for (const Strategy& row : strategies()) {
    if (row.name == "softmax_chain") continue;
    bool covered = false;
    for (const Chosen& chosen : chosen_rows()) covered = covered || row.name == chosen.strategy;
    EXPECT_TRUE(covered) << row.name;
  }
}

// Of runs that are cut a variance took 40 times as long.
TEST(Strategies, PartsEndWhereRunsDo) {
  const std::vector<Index> shapes[] = {{2, 16777, 50, 20}, {7, 2995, 16, 100}, {3, 9001, 2, 33}};
  for (const auto& sizes : shapes)
    for (const DeviceFacts& device : {kH200, kA100, kHost}) {
      Request request = reduce_of(ReduceOp::var, dense(DType::f32, sizes), {1, 3}, device);
      request.options.strategy = "split";
      const Choice choice = plan(request);
      ASSERT_FALSE(choice.schedule.steps.empty()) << device.name;
      const Step& fold = choice.schedule.steps.front();
      EXPECT_GT(fold.parts, 1) << device.name;
      EXPECT_EQ(fold.part % fold.reduced.back().size, 0) << device.name << ' ' << fold.part;
    }
}

struct Refused {
  const char* strategy;
  Request request;
  Verdict::Kind kind;
  const char* why;
};

TEST(Strategies, EveryRefusalSaysWhy) {
  using Kind = Verdict::Kind;
  DeviceFacts lonely = kH200;
  lonely.cooperative = false;
  const Refused rows[] = {
      {"nothing", sum_of({4}, {0}, kHost), Kind::no, "there are elements to read"},
      {"copy", softmax_of({4}, {0}, kHost), Kind::no, "a softmax is not a copy"},
      {"copy", sum_of({4}, {0}, kHost), Kind::no, "elements are folded"},
      {"rows_in_bundles", softmax_of({4096, 7}, {1}, kHost), Kind::no,
       "a CPU's short rows are bundled in rows_in_block"},
      {"rows_in_bundles", sum_of({4096, 7}, {0}, kH200), Kind::no, "its rows do not lie one after the other"},
      {"rows_in_bundles", sum_of({4096, 1025}, {1}, kH200), Kind::no, "a bundle has no room for such rows"},
      {"rows_in_bundles", sum_of({4096, 512}, {1}, kH200), Kind::unwise,
       "rows of whole packs come as quickly from memory"},
      {"rows_in_bundles", reduce_of(ReduceOp::sum, dense(DType::i32, {4096, 7}), {1}, kH200), Kind::unwise,
       "there is no kernel of its own for this fold"},
      {"rows_in_lanes", sum_of({4096, 7}, {1}, kH200), Kind::unwise, "short rows come in bundles"},
      {"rows_in_lanes", softmax_of({4, 64}, {1}, kHost), Kind::no, "a CPU's lanes share a row in rows_in_block"},
      {"rows_in_lanes", softmax_of({4, 4096}, {1}, kH200), Kind::unwise,
       "a row is longer than the registers of a warp"},
      {"rows_in_block", softmax_of({64, 512, 4096}, {1}, kH200), Kind::unwise, "the contiguous axis is kept"},
      {"rows_in_block", sum_of({256 * kMillion}, {0}, kHost), Kind::unwise, "its few blocks would leave cores idle"},
      {"rows_in_block", softmax_of({4096, 4}, {1}, kHost), Kind::unwise, "rows are shorter than a step of lanes"},
      {"rows_in_block", softmax_of({kMillion, 3, 11}, {0, 2}, kHost), Kind::unwise, "its runs are folded as columns"},
      {"rows_in_cluster", softmax_of({4096, 32768}, {1}, kHost), Kind::no, "a CPU has no clusters"},
      {"rows_in_cluster", softmax_of({4096, 32768}, {1}, kA100), Kind::no, "sm_80 has no clusters"},
      {"rows_in_cluster", softmax_of({4096, 64}, {1}, kH200), Kind::unwise, "a block is enough for so few elements"},
      {"rows_in_cluster", softmax_of({1, 16 * kMillion}, {1}, kH200), Kind::unwise,
       "its elements do not fit the shared memory of a cluster"},
      {"rows_in_grid", softmax_of({1, kMillion}, {1}, kHost), Kind::no,
       "a CPU has no cooperative launch: split shares rows there"},
      {"rows_in_grid", softmax_of({1, kMillion}, {1}, lonely), Kind::no, "NVIDIA H200 has no cooperative launch"},
      {"rows_in_grid", sum_of({1, kMillion}, {1}, kH200), Kind::no,
       "a reduction needs no barrier: split shares what is folded"},
      {"rows_in_grid", softmax_of({8, 16}, {1}, kH200), Kind::unwise, "a block is enough for so few elements"},
      {"columns_in_bundles", sum_of({kMillion, 65, 3}, {1}, kHost), Kind::no, "a CPU's caches are bundles enough"},
      {"columns_in_bundles", reduce_of(ReduceOp::sum, dense(DType::i32, {kMillion, 65, 3}), {1}, kH200), Kind::no,
       "there is no kernel of its own for this fold"},
      {"columns_in_bundles", sum_of({kMillion, 3, 65}, {0}, kH200), Kind::no, "such lines do not fit a bundle"},
      {"columns_in_bundles", sum_of({kMillion, 3, 65}, {2}, kH200), Kind::no, "a line has one output: it is a row"},
      {"columns_in_bundles", sum_of({100, 65, 3}, {1}, kH200), Kind::unwise, "lines are too few"},
      {"columns_in_bundles", sum_of({kMillion, 16, 16}, {1}, kH200), Kind::unwise,
       "blocks load such columns as quickly"},
      {"columns_in_lanes", sum_of({kMillion, 65, 3}, {1}, kHost), Kind::no,
       "a CPU's lanes share a line in columns_in_block"},
      {"columns_in_lanes", sum_of({kMillion, 16, 16}, {1}, kH200), Kind::unwise, "a block has work enough"},
      {"columns_in_lanes", sum_of({kMillion, 65, 3}, {1}, kH200), Kind::unwise, "such lines come in bundles"},
      {"columns_in_lanes", sum_of({kMillion, 65, 300}, {1}, kH200), Kind::unwise, "a block has work enough"},
      {"columns_in_block", sum_of({kMillion, 65, 3}, {1}, kH200), Kind::unwise, "such lines come in bundles"},
      {"columns_in_block", reduce_of(ReduceOp::sum, dense(DType::i32, {kMillion, 65, 3}), {1}, kH200), Kind::unwise,
       "lanes of a warp are enough for so short a line"},
      {"columns_in_block", softmax_of({4096, 4096}, {1}, kA100), Kind::unwise, "the contiguous axis is reduced"},
      {"columns_in_block", sum_of({4096, 4}, {1}, kHost), Kind::unwise, "the contiguous axis is reduced"},
      {"columns_in_block", sum_of({64}, {0}, kHost), Kind::no, "no axis is kept"},
      {"columns_in_cluster", softmax_of({64, 512, 4096}, {1}, kA100), Kind::no, "sm_80 has no clusters"},
      {"columns_in_grid", softmax_of({64, 512, 4096}, {1}, kHost), Kind::no,
       "a CPU has no cooperative launch: split shares rows there"},
      {"split", softmax_of({64, 4096}, {1}, kHost), Kind::unwise, "whole outputs keep every core busy"},
      {"split", sum_of({kMillion, 3, 11}, {0, 2}, kHost), Kind::unwise, "its runs are folded as columns"},
      {"split", sum_of({kMillion, 64}, {1}, kH200), Kind::unwise, "whole outputs keep every multiprocessor busy"},
      {"split", softmax_of({64, 1}, {1}, kH200), Kind::no, "nothing is folded"},
      {"columns_first", softmax_of({512, 31, 128, 68}, {1, 3}, kH200), Kind::unwise, "runs are long enough for lanes"},
      {"columns_first", sum_of({512, 33}, {1}, kH200), Kind::no, "one axis is reduced: nothing lies between its runs"},
      {"columns_first", sum_of({512, 31, 128, 33}, {1, 3}, kHost), Kind::unwise, "a CPU takes such runs as they are"},
      {"columns_first", sum_of({512, 600, 128, 32}, {1, 3}, kH200), Kind::unwise, "runs are whole vectors"},
      {"columns_first", sum_of({512, 31, 128, 33}, {1, 3}, kH200), Kind::unwise, "too little lies between its runs"},
      {"columns_first", sum_of({512, 600, 2, 7}, {1, 3}, kH200), Kind::unwise, "too few columns lie side by side"},
      {"map_across", sum_of({4, 5}, {0}, kHost), Kind::no, "only a softmax is mapped"},
      {"map_across", transposed({92231, 129}, {0}, kH200), Kind::no,
       "a GPU has no need of it: its tiles turn while they wait"},
      {"map_across", softmax_of({4096, 64}, {1}, kHost), Kind::unwise, "its results lie as its elements do"},
      {"map_across", transposed({4096, 4096}, {1}), Kind::unwise, "a CPU's tiles of columns turn while they wait"},
      {"map_across", transposed({100000, 5, 32}, {1, 2}), Kind::unwise,
       "a CPU's tiles of columns turn while they wait"},
      {"columns_in_block", transposed({3000, 64, 64}, {1, 2}), Kind::unwise, "its results lie across its elements"},
      {"columns_first", transposed({12, 50, 29111}, {1, 2}), Kind::unwise, "its results lie across its elements"},
      {"wide_columns", sum_of({0, 4}, {0}, kHost), Kind::no, "the input has no elements"},
      {"wide_columns", of_three_channels({64, 256, 256, 3}, {1, 2}, kH200), Kind::no,
       "no others lie beside its columns"},
      {"wide_columns", sum_of({4, 5}, {1}, kH200), Kind::no, "columns are no neighbours"},
      {"nearest_first", sum_of({0, 4}, {0}, kHost), Kind::no, "the input has no elements"},
      {"nearest_first", sum_of({64, 3, 1024, 196}, {0, 2}, kHost), Kind::no,
       "a CPU has no need of it: it walks several axes as well as one"},
      {"nearest_first", softmax_of({64, 3, 1024, 196}, {0, 2}, kH200), Kind::no, "a softmax maps what it folds"},
      {"nearest_first", sum_of({64, 512}, {1}, kH200), Kind::no, "one axis is reduced"},
      {"nearest_first", reduce_of(ReduceOp::argmax, dense(DType::f32, {12, 695, 10000}), {0, 2}, kH200), Kind::unwise,
       "an index is looked for in a row of several runs at once"},
      {"nearest_first", sum_of({4096, 512, 7, 7}, {0, 2, 3}, kH200), Kind::yes, ""},
      {"nearest_first", sum_of({kMillion, 12, 6}, {0, 2}, kH200), Kind::unwise,
       "its nearest axis is too short for a state of its own"},
      {"wide_columns", softmax_of({4096, 3}, {0}, kHost), Kind::no, "a softmax has results for elements alone"},
      {"wide_columns", sum_of({4096, 3}, {0}, kHost), Kind::no, "nothing lies beside its columns"},
      {"wide_columns", of_three_channels({64, 256, 256, 3}, {3}), Kind::no, "columns are no neighbours"},
      {"wide_columns", of_three_channels({64, 256, 256, 3}, {1, 2}, kHost, ReduceOp::argmax), Kind::no,
       "an index counts elements, not gaps"},
      {"wide_columns", of_three_channels({4096, 8, 3}, {1}), Kind::unwise, "too few rows are folded"},
      {"columns_in_block", of_three_channels({64, 256, 256, 3}, {1, 2}), Kind::unwise,
       "too few columns lie side by side"},
      {"rows_in_block", of_three_channels({64, 256, 256, 3}, {1, 2}), Kind::unwise,
       "what lies beside its columns is folded, too"},
      {"permute_then_rows", permute_of(dense(DType::f32, {4, 5}), {1, 0}, kHost), Kind::no, "a permute folds nothing"},
      {"permute_then_rows", sum_of({0, 4}, {0}, kHost), Kind::no, "the input has no elements"},
      {"permute_then_rows", softmax_of({64, 512, 7}, {1}, kHost), Kind::unwise, "a CPU reads any strides in place"},
      {"columns_in_grid", softmax_of({1000, 2000, 3}, {1}, kA100), Kind::unwise,
       "a block is enough for so few elements"},
      {"softmax_chain", sum_of({4}, {0}, kHost), Kind::no, "this is not a softmax"},
      {"softmax_chain", softmax_of({kMillion, 3, 11}, {0, 2}, kHost), Kind::unwise, "its runs are folded as columns"},
  };
  for (const Refused& row : rows) {
    const Verdict verdict = candidate(plan(row.request), row.strategy).verdict;
    EXPECT_EQ(verdict.kind, row.kind) << row.strategy << ": " << row.why;
    EXPECT_EQ(verdict.why, row.why) << row.strategy;
  }
  for (const Strategy& strategy : strategies()) {
    bool covered = false;
    for (const Refused& row : rows) covered = covered || strategy.name == row.strategy;
    EXPECT_TRUE(covered) << strategy.name;
  }
}

TEST(Strategies, EveryPossibleRowCanBeForced) {
  for (const DeviceFacts& device : {kHost, kH200, kA100})
    for (const Request& request : {softmax_of({3, 5, 7}, {1}, device), softmax_of({2, 4096}, {1}, device),
                                   sum_of({30, 500}, {0}, device), sum_of({9}, AxisSet::none(), device)}) {
      const Choice free = plan(request);
      for (const Candidate& row : free.candidates) {
        const Request named = forced(request, std::string(row.name));
        if (!row.verdict.possible()) {
          EXPECT_EQ(refusal(named).message(),
                    "strategy " + std::string(row.name) + " cannot do this on " + device.name + ": " + row.verdict.why);
          continue;
        }
        const Choice choice = plan(named);
        EXPECT_TRUE(choice.forced);
        EXPECT_EQ(choice.strategy, row.name);
        EXPECT_EQ(broken_limit(choice.schedule, device), "") << row.name;
      }
    }
}

TEST(Strategies, OtherAxesAreTakenInNoOrderOfACallers) {
  const Problem given = make_problem(sum_of({64, 512, 128}, {0, 2}, kH200)).value();
  const Problem nearest = with_axes(given, {{64, 65536, 1}, {512, 128, 64}}, {{128, 1}});
  const Choice choice = choose(nearest, {.device = kH200}).value();
  EXPECT_EQ(candidate(choice, "permute_then_rows").verdict.why, "its axes are in no order that a caller gave");
}

TEST(Strategies, AnUnknownNameIsAnsweredWithTheTable) {
  const std::string message = refusal(forced(sum_of({4}, {0}), "fastest")).message();
  EXPECT_EQ(message.rfind("strategy fastest is not in the table; it has nothing, copy, rows_in_bundles", 0), 0u)
      << message;
  for (const Strategy& row : strategies()) EXPECT_NE(message.find(row.name), std::string::npos);
}

TEST(Strategies, WithoutCooperativeLaunchASoftmaxStillHasAPlan) {
  DeviceFacts lonely = kA100;
  lonely.cooperative = false;
  const Choice choice = plan(softmax_of({1, 16 * kMillion}, {1}, lonely));
  EXPECT_EQ(choice.strategy, "split");
  for (const Step& step : choice.schedule.steps) EXPECT_FALSE(step.launch.cooperative);
}

// Results must not depend on how many cores there are, so neither may the choice, nor a schedule's numbers.
TEST(Strategies, TheHostsChoiceIgnoresItsCoresAndSpeed) {
  const DeviceFacts usual = fixed_host();
  for (Index rows = 1; rows <= kMillion; rows *= 32)
    for (Index columns = 1; columns <= kMillion; columns *= 32)
      for (int axis : {0, 1}) {
        const Choice expected = plan(softmax_of({rows, columns}, {axis}, usual));
        for (int cores : {1, 2, 64, 512}) {
          DeviceFacts other = usual;
          other.multiprocessors = cores;
          other.lanes = 4;
          other.cache_bytes = 1 << 18;
          other.read_gigabytes_per_second = other.copy_gigabytes_per_second = 3.0 * cores;
          other.launch_microseconds = 0.1 * cores;
          const Choice choice = plan(softmax_of({rows, columns}, {axis}, other));
          EXPECT_EQ(choice.strategy, expected.strategy);
          EXPECT_EQ(choice.schedule, expected.schedule);
        }
      }
}

}  // namespace
}  // namespace ndfold::test
