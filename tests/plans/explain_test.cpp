// explain(): the words of a plan, and the same as JSON.
#include "plans/explain.h"

#include "tests/plans/problems.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ndfold::test {
namespace {

std::string text(const Request& request) {
  const Problem problem = make_problem(request).value();
  return explain(request, problem, choose(problem, request.options).value());
}

nlohmann::json json(const Request& request) {
  const Problem problem = make_problem(request).value();
  return nlohmann::json::parse(explain_json(request, problem, choose(problem, request.options).value()));
}

void expect_lines(const std::string& text, const std::vector<std::string>& lines) {
  for (const std::string& line : lines)
    EXPECT_NE(("\n" + text).find("\n" + line), std::string::npos) << line << "\n" << text;
}

TEST(Explain, SaysWhatWhyAndWhyNotTheOthers) {
  expect_lines(
      text(softmax_of({64, 512, 4096}, {1}, DeviceFacts::a100())),
      {"softmax f32 [64,512,4096] axes {1} → same\n", "device     NVIDIA A100 80 GB · sm_80 · 108 multiprocessors\n",
       "canonical  kept 64 (in 2097152) · reduced 512 (in 4096) · kept 4096 (in 1)\n",
       "chosen     columns_in_block   1 launch · 0 B workspace · 1.07 GB · ≈ ",
       "  1  softmax_columns  f32  waits in shared  tile 512×32  256 threads  64 KiB shared  grid 8192\n",
       "refused    rows_in_block: the contiguous axis is kept\n", "dearer     "});
}

TEST(Explain, SaysSoWhenAStrategyWasForced) {
  const std::string forced_text = text(forced(softmax_of({2, 3, 4}, {1}), "softmax_chain"));
  expect_lines(forced_text, {"forced     softmax_chain      7 launches", "  7  permute", "others     "});
  EXPECT_EQ(forced_text.find("\nchosen"), std::string::npos);
}

TEST(Explain, HeadlinesNameTheRequest) {
  EXPECT_EQ(headline(reduce_of(ReduceOp::sum, dense(DType::f16, {64, 1, 512}), {1, 2})),
            "sum f16 [64,1,512] axes {1,2} → [64]");
  EXPECT_EQ(headline(reduce_of(ReduceOp::argmax, dense(DType::u8, {4}), AxisSet::all())),
            "argmax u8→i64 [4] all axes → []");
  EXPECT_EQ(headline(sum_of({4}, AxisSet::none())), "sum f32 [4] no axes → same");
  EXPECT_EQ(headline(permute_of(dense(DType::f32, {2, 3, 4}), {2, 0, 1})),
            "permute f32 [2,3,4] order {2,0,1} → [4,2,3]");
  ViewDesc stepped = dense(DType::f32, {4, 5});
  stepped.strides = {10, -2};
  Request request = softmax_of(stepped, {-1});
  request.softmax.scale = 0.125;
  request.softmax.alpha = 3;
  EXPECT_EQ(headline(request), "softmax f32 [4,5] strides {10,-2} axes {-1} scale 0.125 alpha 3 → [4,5]");
}

TEST(Explain, TellsFlipsRepeatsAndWeights) {
  ViewDesc view = dense(DType::f32, {3, 7, 5});
  view.strides = {5, 0, -1};
  expect_lines(
      text(reduce_of(ReduceOp::argmax, view, {1, 2})),
      {"canonical  kept 3 (in 5, out 1) · reduced 5 (in 1, weight -1) · each element repeated 7 · input starts "
       "at -4 · indices start at 4\n"});
  expect_lines(text(sum_of({0, 4}, {1})), {"canonical  no elements\n"});
  expect_lines(text(sum_of({}, AxisSet::none())), {"canonical  one element\n"});
}

TEST(Explain, JsonHoldsEveryNumber) {
  const auto plan = json(forced(sum_of({2, 3, 4}, {0, 2}), "permute_then_rows"));
  EXPECT_EQ(plan["strategy"], "permute_then_rows");
  EXPECT_EQ(plan["forced"], true);
  EXPECT_EQ(plan["steps"].size(), 2u);
  EXPECT_EQ(plan["steps"][0]["kernel"]["name"], "permute");
  EXPECT_EQ(plan["steps"][1]["grid"], (std::vector<int>{1, 3, 1}));
  EXPECT_EQ(plan["canonical"]["count"], 8);
  EXPECT_EQ(plan["candidates"].size(), strategies().size());
  for (const auto& row : plan["candidates"]) EXPECT_TRUE(row.contains("why") || row["microseconds"] >= 0) << row;
}

TEST(Explain, JsonTakesAnyBytesForAName) {
  DeviceFacts device = fixed_host();
  device.name = "\xff\xfe\"\n";
  EXPECT_TRUE(json(sum_of({4}, {0}, device))["device"].is_string());
}

}  // namespace
}  // namespace ndfold::test
