// The simulator notices: a bound that is off by one, an element left out, a counter that is not set. Each mutant fails
// its case; the copy in which nothing was changed passes all of them.
#include "tests/simt/mutants.h"

#include "tests/simt/forced.h"
#include "tests/simt/memory.h"

namespace simt {
namespace {

struct Case {
  const char* kind;
  AnyRequest request;
  const char* strategy;
  Sizes sizes, out_sizes;
  DeviceFacts device;
  Values values = Values::mixed;
  Index shift = 1;
};

ReduceSpec reduce(ReduceOp op, int axis) { return {.op = op, .axes = {axis}}; }

// Whose lanes have many batches.
DeviceFacts one_warp() {
  DeviceFacts device = small(DeviceFacts::h200(), 2);
  device.threads_per_block = 32;
  return device;
}

const std::vector<Case>& cases() {
  static const DeviceFacts kDevice = small(DeviceFacts::h200(), 2);
  static const std::vector<Case> kCases = {
      {"rows", reduce(ReduceOp::sum, 1), "rows_in_block", {2, 35219}, {2}, kDevice, Values::positive},
      {"deepest", reduce(ReduceOp::sum, 1), "rows_in_block", {1, 300003}, {1}, one_warp(), Values::positive},
      {"deep", reduce(ReduceOp::sum, 1), "rows_in_block", {1, 70003}, {1}, kDevice, Values::positive},
      {"batches", reduce(ReduceOp::sum, 1), "rows_in_block", {2, 35968}, {2}, kDevice, Values::positive},
      {"runs",
       ReduceSpec{.op = ReduceOp::sum, .axes = {1, 3}},
       "rows_in_block",
       {2, 3, 4, 9},
       {2, 4},
       kDevice,
       Values::positive},
      {"bundle",
       ReduceSpec{.op = ReduceOp::sum, .axes = {0, 2, 4}},
       "rows_in_block",
       {10, 2, 13, 2, 12},
       {2, 2},
       kDevice,
       Values::positive,
       0},
      {"far",
       ReduceSpec{.op = ReduceOp::sum, .axes = {0, 2, 4, 6, 8}},
       "rows_in_block",
       {3, 2, 3, 2, 3, 2, 3, 2, 8},
       {2, 2, 2, 2},
       kDevice,
       Values::positive},
      {"maximum", reduce(ReduceOp::max, 1), "rows_in_block", {2, 203}, {2}, kDevice, Values::mixed},
      {"cluster", reduce(ReduceOp::sum, 1), "rows_in_cluster", {3, 3001}, {3}, kDevice, Values::positive},
      {"softmax", SoftmaxSpec{.axes = {1}}, "rows_in_block", {2, 9000}, {2, 9000}, tight(2), Values::mixed},
      {"grid", SoftmaxSpec{.axes = {1}}, "rows_in_grid", {7, 6000}, {7, 6000}, tight(2), Values::mixed},
      {"columns", reduce(ReduceOp::sum, 0), "columns_in_block", {93, 76}, {76}, kDevice, Values::positive},
      {"softmax_columns",
       SoftmaxSpec{.axes = {0}},
       "columns_in_block",
       {555, 76},
       {555, 76},
       small(DeviceFacts::a100(), 2),
       Values::mixed},
      {"kept", SoftmaxSpec{.axes = {0}}, "columns_in_block", {7, 75}, {7, 75}, small(kDevice, 1), Values::mixed},
      {"kept_half",
       SoftmaxSpec{.axes = {0}, .scale = -2},
       "columns_in_block",
       {7, 75},
       {7, 75},
       small(kDevice, 1),
       Values::mixed},
      {"kept_even_half",
       SoftmaxSpec{.axes = {0}, .scale = 0},
       "columns_in_block",
       {7, 75},
       {7, 75},
       small(kDevice, 1),
       Values::mixed},
      {"kept_axes",
       SoftmaxSpec{.axes = {0, 2}},
       "columns_in_block",
       {2, 5, 3, 40},
       {2, 5, 3, 40},
       kDevice,
       Values::mixed},
      {"odd_columns", reduce(ReduceOp::sum, 0), "columns_in_block", {101, 75}, {75}, kDevice, Values::positive},
      {"bundles", reduce(ReduceOp::sum, 1), "rows_in_bundles", {1003, 3}, {1003}, kDevice, Values::positive, 0},
      {"uneven_bundles", reduce(ReduceOp::sum, 1), "rows_in_bundles", {103, 21}, {103}, kDevice, Values::positive},
      {"spaced_bundles", reduce(ReduceOp::sum, 1), "rows_in_bundles", {103, 65}, {103}, kDevice, Values::positive},
      {"shifted", reduce(ReduceOp::sum, 0), "columns_in_block", {101, 389}, {389}, kDevice, Values::positive},
      {"joined", reduce(ReduceOp::sum, 0), "columns_in_block", {1003, 3}, {3}, kDevice, Values::positive},
      {"whole_lines", reduce(ReduceOp::sum, 1), "rows_in_lanes", {13, 516}, {13}, kDevice, Values::positive, 0},
      {"whole_short", reduce(ReduceOp::sum, 1), "rows_in_lanes", {301, 12}, {301}, kDevice, Values::positive, 0},
      {"whole_best", reduce(ReduceOp::argmax, 1), "rows_in_lanes", {301, 12}, {301}, kDevice, Values::mixed, 0},
      {"whole_softmax", SoftmaxSpec{.axes = {1}}, "rows_in_lanes", {13, 260}, {13, 260}, kDevice, Values::mixed, 0},
      {"whole_kept_half",
       SoftmaxSpec{.axes = {1}, .scale = -2},
       "rows_in_lanes",
       {13, 520},
       {13, 520},
       kDevice,
       Values::mixed,
       0},
      {"whole_long",
       SoftmaxSpec{.axes = {1}, .scale = -2},
       "rows_in_block",
       {2, 16903},
       {2, 16903},
       kDevice,
       Values::mixed,
       0},
      {"whole_places",
       SoftmaxSpec{.axes = {1, 3}},
       "rows_in_lanes",
       {13, 5, 2, 36},
       {13, 5, 2, 36},
       kDevice,
       Values::mixed,
       0},
      {"whole_runs",
       ReduceSpec{.op = ReduceOp::sum, .axes = {0, 2}},
       "rows_in_block",
       {2148, 2, 12},
       {2},
       kDevice,
       Values::positive,
       0},
      {"cut_lines", reduce(ReduceOp::sum, 1), "rows_in_lanes", {13, 69}, {13}, kDevice, Values::positive, 3},
      {"cut_softmax", SoftmaxSpec{.axes = {1}}, "rows_in_lanes", {13, 69}, {13, 69}, kDevice, Values::mixed, 3},
      {"cut_runs",
       SoftmaxSpec{.axes = {1, 3}},
       "rows_in_block",
       {5, 9, 3, 31},
       {5, 9, 3, 31},
       kDevice,
       Values::mixed,
       3},
      {"cut_fold",
       ReduceSpec{.op = ReduceOp::sum, .axes = {0, 2}},
       "rows_in_block",
       {31, 2, 13},
       {2},
       kDevice,
       Values::positive,
       3},
      {"cut_lists",
       ReduceSpec{.op = ReduceOp::var, .axes = {0, 2}},
       "rows_in_block",
       {2148, 2, 13},
       {2},
       kDevice,
       Values::mixed,
       3},
      {"travelling", SoftmaxSpec{.axes = {1}}, "rows_in_grid", {27, 24003}, {27, 24003}, kDevice, Values::mixed, 0},
      {"travelling_apart", SoftmaxSpec{.axes = {1}}, "rows_in_grid", {5, 24003}, {5, 24003}, kDevice, Values::mixed, 1},
      {"travelling_slowly",
       SoftmaxSpec{.axes = {1}},
       "rows_in_grid",
       {3, 90003},
       {3, 90003},
       kDevice,
       Values::mixed,
       0},
      {"travelling_past",
       SoftmaxSpec{.axes = {1}},
       "rows_in_grid",
       {3, 250003},
       {3, 250003},
       kDevice,
       Values::mixed,
       0},
      {"travelling_runs",
       SoftmaxSpec{.axes = {0, 2}},
       "rows_in_grid",
       {110, 9, 204},
       {110, 9, 204},
       kDevice,
       Values::mixed,
       0},
      {"travelling_columns",
       SoftmaxSpec{.axes = {0}},
       "columns_in_grid",
       {2601, 140},
       {2601, 140},
       kDevice,
       Values::mixed,
       0},
      {"travelling_joined",
       SoftmaxSpec{.axes = {1}},
       "columns_in_grid",
       {7, 12001, 5},
       {7, 12001, 5},
       kDevice,
       Values::mixed,
       0},
      {"travelling_sectors",
       SoftmaxSpec{.axes = {0}},
       "columns_in_grid",
       {1501, 141},
       {1501, 141},
       without_cache(2),
       Values::mixed,
       0},
      {"sectors",
       SoftmaxSpec{.axes = {0}},
       "columns_in_block",
       {41, 603},
       {41, 603},
       without_cache(1),
       Values::mixed,
       0},
      {"tall_sectors", SoftmaxSpec{.axes = {0}}, "columns_in_block", {301, 139}, {301, 139}, kDevice, Values::mixed, 0},
      {"across_sectors",
       SoftmaxSpec{.axes = {0}},
       "columns_in_block",
       {301, 139},
       {301, 139},
       kDevice,
       Values::mixed,
       1},
      {"few_rows", reduce(ReduceOp::sum, 0), "columns_in_block", {9, 2060}, {2060}, kDevice, Values::positive, 3},
      {"permute", Order{{2, 1, 0}}, "copy", {35, 3, 45}, {45, 3, 35}, kDevice, Values::mixed},
      {"elementwise", SoftmaxSpec{.axes = {0}}, "split", {212, 76}, {212, 76}, kDevice, Values::mixed},
      {"joined_elementwise", SoftmaxSpec{.axes = {0}}, "split", {133, 37}, {133, 37}, one_warp(), Values::mixed},
      {"moments_half", reduce(ReduceOp::var, 0), "columns_in_block", {33003, 8}, {8}, one_warp(), Values::ascending, 0},
      {"anywhere_half", reduce(ReduceOp::var, 0), "columns_in_block", {121, 269}, {269}, kDevice, Values::ascending, 1},
      {"moments_few_half",
       reduce(ReduceOp::var, 0),
       "columns_in_block",
       {9, 2056},
       {2056},
       kDevice,
       Values::ascending,
       0},
      {"powers_of_columns",
       reduce(ReduceOp::logsumexp, 0),
       "columns_in_block",
       {601, 76},
       {76},
       one_warp(),
       Values::mixed,
       0}};
  return kCases;
}

// Takes the place of the tables' kernels in the body that is under test.
ndfold::cuda::Kernel under_test = nullptr;
Body body_under_test = Body::rows;
bool is_as_found = false;  // what else a kernel is told
bool takes_lines = false;  // of whole packs
bool takes_cut_lines = false;
bool travels = false;
bool by_sectors = false;

ndfold::cuda::Found find_mutant(const KernelKey& key, const ndfold::cuda::Layout& layout) {
  ndfold::cuda::Found found = find_kernel(key, layout);
  const bool tiled = key.body != Body::permute || !layout.same_axis;
  const bool dense = key.body != Body::elementwise || (layout.dense && key.output == DType::f32);
  if (key.body != body_under_test || !tiled || !dense) return found;
  if (found.travelling != nullptr && travels) {
    found.travelling = found.travelling_sectors = found.travelling_apart = under_test;
    return found;
  }
  if (by_sectors && (found.sectors != nullptr || found.tall_sectors != nullptr)) {
    (found.sectors != nullptr ? found.sectors : found.tall_sectors) = under_test;
    return found;
  }
  if (found.cut_runs != nullptr && takes_cut_lines) {
    found.cut_runs = under_test;
    found.packs_of_cut_runs = 8;
    return found;
  }
  if (found.cut_lines != nullptr && takes_cut_lines) {
    found.cut_lines = under_test;
    found.packs_of_line = 8;
    return found;
  }
  if (takes_lines) {
    if (found.long_lines != nullptr) found.long_lines = under_test;
    (found.whole_lines != nullptr ? found.whole_lines : found.whole_runs) = under_test;
    found.short_lines = nullptr;
    return found;
  }
  if (found.bundles) return {.kernel = under_test, .threads = found.threads, .pack = found.pack, .bundles = true};
  if (is_as_found) {
    found.kernel = under_test;
    found.packs_of_line = 0;
    return found;
  }
  if (layout.few_rows) return {under_test, found.threads, found.pack, found.columns, found.packs};
  return {.kernel = under_test,
          .threads = found.threads,
          .pack = key.body == Body::permute ? 1 : 4,
          .state_bytes = found.state_bytes};
}

std::string outcome(const Mutant& mutant) {
  for (const Case& item : cases()) {
    if (mutant.kind != item.kind) continue;
    takes_lines = mutant.kind.starts_with("whole_");
    // Whole rows of the input lie side by side: what is beyond one is in the next. Values betray it, or red zones.
    const auto* reduces = std::get_if<ReduceSpec>(&item.request);
    const bool of_moments = mutant.kind.starts_with("moments") || mutant.kind == "anywhere_half";
    const DType type = of_moments ? DType::f16 : mutant.kind.ends_with("_half") ? DType::bf16 : DType::f32;
    Array in(dense(type, item.sizes), item.shift);
    takes_cut_lines = mutant.kind.starts_with("cut_");
    travels = mutant.kind.starts_with("travelling");
    by_sectors = mutant.kind.ends_with("sectors") && !travels;
    Array out(dense(reduces ? default_output(reduces->op, type) : type, item.out_sizes),
              takes_lines || travels || by_sectors ? 0
              : takes_cut_lines                    ? item.shift
                                                   : 2);
    fill(in, item.values);
    if (mutant.kind == "maximum")
      for (Index i = 0; i < 2 * 203; ++i) in.set(i, -1 - in.get(i) * in.get(i));  // an absent 0 would be the largest
    under_test = mutant.kernel;
    is_as_found = mutant.kind == "joined" || mutant.kind == "shifted" || mutant.kind == "travelling_joined" ||
                  mutant.kind.starts_with("kept") || of_moments;
    body_under_test =
        mutant.kind.ends_with("columns") || mutant.kind.ends_with("sectors") || mutant.kind == "few_rows" || is_as_found
            ? Body::columns
        : mutant.kind == "permute"             ? Body::permute
        : mutant.kind.ends_with("elementwise") ? Body::elementwise
                                               : Body::rows;
    const Options options{.slowness = travels ? 100 : 1};  // blocks that always go on together need not wait for words
    return simulate(item.request, in, out, {.device = item.device, .strategy = item.strategy}, options, find_mutant)
        .failure;
  }
  return "no case";
}

TEST(mutants, each_is_noticed) {
  int noticed = 0;
  for (const Mutant& mutant : mutants()) {
    if (!sees_accesses() && mutant.name != "whole") continue;  // a sanitizer would end the process
    const std::string failure = outcome(mutant);
    if (mutant.name == "whole") {
      EXPECT_EQ(failure, "") << mutant.kind;
    } else {
      EXPECT_NE(failure, "") << mutant.name << " goes unnoticed";
      if (!failure.empty()) ++noticed;
    }
  }
  EXPECT_TRUE(noticed >= 25 || !sees_accesses()) << noticed;
}

}  // namespace
}  // namespace simt
