// What run() refuses: pointers, overlap and workspaces. Nothing is written then.
#include "tests/support/compare.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

// A plan that needs a workspace, and what it needs to run.
struct Chain {
  Array in = Array(dense(DType::f32, {3, 40}));
  Array out = Array(dense(DType::f32, {3, 40}));
  ReducePlan plan;
  Array memory;

  static ReducePlan make() {
    const ViewDesc view = dense(DType::f32, {3, 40});
    const PlanOptions options{.device = DeviceFacts::host(), .strategy = "softmax_chain"};
    return ReducePlan::softmax(view, view, {.axes = {1}}, options).value();
  }
  Chain() : plan(make()), memory(dense(DType::u8, {static_cast<Index>(plan.workspace_bytes()) + 64})) {
    fill(in, Values::mixed);
  }
};

void expect_refusal(const Status& status, Code code, const std::string& word, const Array& out) {
  EXPECT_EQ(name(status.code()), name(code)) << status.message();
  EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
  EXPECT_TRUE(out.untouched());
}

TEST(run, refuses_a_bad_workspace) {
  Chain chain;
  const std::size_t need = chain.plan.workspace_bytes();
  ASSERT_GT(need, 0u);
  const std::string bytes = std::to_string(need);
  auto* data = static_cast<std::byte*>(chain.memory.data());
  const auto run = [&](Workspace workspace) { return chain.plan.run(chain.in.data(), chain.out.data(), workspace); };
  const Code code = Code::workspace_too_small;
  expect_refusal(run({}), code, bytes, chain.out);
  expect_refusal(run({.data = nullptr, .bytes = need}), code, "workspace", chain.out);
  expect_refusal(run({.data = data, .bytes = need - 1}), code, bytes, chain.out);
  expect_refusal(run({.data = data, .bytes = need - 1}), code, std::to_string(need - 1), chain.out);
  for (const int shift : {1, 4, 8, 16, 32})
    expect_refusal(run({.data = data + shift, .bytes = need + 8}), code, "64", chain.out);
  EXPECT_TRUE(chain.memory.untouched());
  EXPECT_TRUE(run({.data = data, .bytes = need}).ok());
}

TEST(run, does_not_care_what_a_workspace_held) {
  Chain chain;
  Array second(chain.out.desc());
  auto* data = chain.memory.data();
  const std::size_t need = chain.plan.workspace_bytes();
  ASSERT_TRUE(chain.plan.run(chain.in.data(), chain.out.data(), {.data = data, .bytes = need}).ok());
  fill(chain.memory, Values::bits);
  ASSERT_TRUE(chain.plan.run(chain.in.data(), second.data(), {.data = data, .bytes = need}).ok());
  EXPECT_TRUE(chain.out == second);
}

TEST(run, refuses_a_workspace_that_is_the_input_or_the_output) {
  Chain chain;
  const std::size_t need = chain.plan.workspace_bytes();
  Array large(dense(DType::f32, {static_cast<Index>(need)}));
  EXPECT_EQ(chain.plan.run(large.data(), chain.out.data(), {.data = large.data(), .bytes = need}).code(),
            Code::overlap);
  EXPECT_EQ(chain.plan.run(chain.in.data(), large.data(), {.data = large.data(), .bytes = need}).code(), Code::overlap);
  EXPECT_TRUE(large.untouched());
  EXPECT_TRUE(chain.out.untouched());
}

TEST(run, refuses_null_pointers_to_elements) {
  Array in(dense(DType::f32, {3, 4})), out(dense(DType::f32, {3}));
  const auto plan = ReducePlan::reduce(in.desc(), out.desc(), {.op = ReduceOp::sum, .axes = {1}});
  ASSERT_TRUE(plan);
  expect_refusal(plan->run(nullptr, out.data()), Code::invalid_argument, "in", out);
  expect_refusal(plan->run(in.data(), nullptr), Code::invalid_argument, "out", out);
}

TEST(run, takes_null_pointers_to_nothing) {
  Array out(dense(DType::f32, {3}));
  const auto sums = ReducePlan::reduce(dense(DType::f32, {3, 0}), out.desc(), {.op = ReduceOp::sum, .axes = {1}});
  ASSERT_TRUE(sums);
  EXPECT_TRUE(sums->run(nullptr, out.data()).ok());
  EXPECT_EQ(out.get(2), 0);
  const auto nothing = ReducePlan::softmax(dense(DType::f32, {0, 3}), dense(DType::f32, {0, 3}), {.axes = {0}});
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(nothing->run(nullptr, nullptr).ok());
}

TEST(run, refuses_misaligned_pointers) {
  Array in(dense(DType::f32, {64})), out(dense(DType::f32, {}));
  fill(in, Values::whole);
  auto* address = static_cast<std::byte*>(in.data());
  for (const Index promise : {0, 4, 16, 64}) {
    ViewDesc view = in.desc();
    view.alignment_bytes = promise;
    const auto plan = ReducePlan::reduce(view, out.desc(), {.op = ReduceOp::sum, .axes = {0}});
    ASSERT_TRUE(plan);
    for (const int shift : {1, 2, 3, 8, 32}) {
      if (shift % std::max<Index>(promise, 4) == 0) continue;
      expect_refusal(plan->run(address + shift, out.data()), Code::invalid_argument, "in", out);
      expect_refusal(plan->run(address + shift, out.data()), Code::invalid_argument,
                     std::to_string(std::max<Index>(promise, 4)), out);
    }
  }
  ViewDesc aligned_out = out.desc();
  aligned_out.alignment_bytes = 32;
  const auto plan = ReducePlan::reduce(in.desc(), aligned_out, {.op = ReduceOp::sum, .axes = {0}});
  ASSERT_TRUE(plan);
  expect_refusal(plan->run(in.data(), static_cast<std::byte*>(out.data()) + 4), Code::invalid_argument, "out", out);
}

struct Overlap {
  Index in, out;  // offsets of element (0, …, 0) in one block of memory, in elements
  bool allowed;
};

TEST(run, refuses_partial_overlap) {
  const ViewDesc view = dense(DType::f32, {4, 8});
  const auto plan = ReducePlan::softmax(view, view, {.axes = {1}});
  ASSERT_TRUE(plan);
  Scratch scratch(plan->workspace_bytes());
  for (const auto& [in, out, allowed] : {Overlap{0, 0, true}, Overlap{0, 1, false}, Overlap{31, 0, false},
                                         Overlap{0, 31, false}, Overlap{0, 32, true}, Overlap{32, 0, true}}) {
    Array memory(dense(DType::f32, {64}));
    auto* base = static_cast<float*>(memory.data());
    const Status status = plan->run(base + in, base + out, scratch.get());
    EXPECT_EQ(name(status.code()), name(allowed ? Code::ok : Code::overlap)) << in << " and " << out;
    EXPECT_TRUE(allowed || memory.untouched());
  }
}

TEST(run, refuses_a_reduction_or_a_permutation_in_place) {
  Array memory(dense(DType::f32, {16}));
  const ViewDesc square = dense(DType::f32, {4, 4});
  const auto sum = ReducePlan::reduce(square, dense(DType::f32, {4}), {.op = ReduceOp::sum, .axes = {1}});
  const auto transpose = ReducePlan::permute(square, square, {{1, 0}});
  for (const auto* plan : {&sum, &transpose}) {
    ASSERT_TRUE(*plan);
    Scratch scratch((*plan)->workspace_bytes());
    expect_refusal((*plan)->run(memory.data(), memory.data(), scratch.get()), Code::overlap, "out", memory);
  }
}

TEST(run, refuses_a_softmax_in_place_when_the_views_differ) {
  Array memory(dense(DType::f64, {16}));
  const ViewDesc square = dense(DType::f32, {4, 4});
  const ViewDesc turned{.dtype = DType::f32, .sizes = {4, 4}, .strides = {1, 4}};
  for (const ViewDesc& out : {turned, dense(DType::f64, {4, 4}), dense(DType::f16, {4, 4})}) {
    const auto plan = ReducePlan::softmax(square, out, {.axes = {1}});
    ASSERT_TRUE(plan);
    Scratch scratch(plan->workspace_bytes());
    expect_refusal(plan->run(memory.data(), memory.data(), scratch.get()), Code::overlap, "out", memory);
  }
}

// Views that reach below their pointers overlap as memory does, not as pointers do.
TEST(run, overlap_of_views_that_run_backwards) {
  const ViewDesc forward = dense(DType::f32, {8});
  const ViewDesc backward{.dtype = DType::f32, .sizes = {8}, .strides = {-1}};
  const auto plan = ReducePlan::softmax(forward, backward, {.axes = {0}});
  ASSERT_TRUE(plan);
  Array memory(dense(DType::f32, {32}));
  auto* base = static_cast<float*>(memory.data());
  Scratch scratch(plan->workspace_bytes());
  expect_refusal(plan->run(base + 8, base + 12, scratch.get()), Code::overlap, "out", memory);
  expect_refusal(plan->run(base + 8, base + 8, scratch.get()), Code::overlap, "out", memory);
  EXPECT_TRUE(plan->run(base + 8, base + 7, scratch.get()).ok());
}

TEST(result, value_throws_for_those_who_like_it) {
  const auto plan =
      ReducePlan::reduce(dense(DType::f32, {2}), dense(DType::f32, {}), {.op = ReduceOp::sum, .axes = {5}});
  EXPECT_THROW((void)plan.value(), Error);
}

}  // namespace
}  // namespace ndfold::test
