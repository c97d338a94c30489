// Requests as keys and as problems: what is equal, what is refused, what a problem says of itself.
#include "plans/request.h"

#include "tests/plans/problems.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

TEST(Request, EqualRequestsHashEqually) {
  EXPECT_EQ(softmax_of({2, 3}, {1}), softmax_of({2, 3}, {1}));
  EXPECT_EQ(hash(softmax_of({2, 3}, {1})), hash(softmax_of({2, 3}, {1})));
}

TEST(Request, EverythingThatChangesASchedulePartsKeys) {
  const Request base = sum_of({4, 6}, {1});
  std::vector<Request> others(12, base);
  others[0].in.sizes[0] = 5;
  others[1].in.strides[0] = 7;
  others[2].in.dtype = DType::f64;
  others[3].in.alignment_bytes = 16;
  others[4].out.strides[0] = 2;
  others[5].reduce.op = ReduceOp::max;
  others[6].reduce.axes = {0};
  others[7].reduce.ddof = 1;
  others[8].options.device = DeviceFacts::h200();
  others[9].options.strategy = "split";
  others[10].options.block_limit = 4;
  others[11].kind = RequestKind::softmax;
  for (std::size_t i = 0; i < others.size(); ++i) {
    EXPECT_NE(base, others[i]) << i;
    EXPECT_FALSE(view_of(base) == view_of(others[i])) << i;
  }
}

TEST(Request, AViewStandsForItsRequest) {
  const Request moved = permute_of(dense(DType::f32, {2, 3}), {1, 0});
  for (const Request& request : {sum_of({4, 6}, {1}), softmax_of({2, 3}, {1}), moved}) {
    const Request copy = copy_of(view_of(request));
    EXPECT_EQ(copy, request);
    EXPECT_TRUE(view_of(copy) == view_of(request));
    EXPECT_EQ(hash(view_of(copy)), hash(request));
  }
}

TEST(Request, AxesMayBeNegativeButNotTwiceOrOutside) {
  EXPECT_EQ(*axis_flags({-1, 0}, 3), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(*axis_flags(AxisSet::all(), 2), (std::vector<bool>{true, true}));
  EXPECT_EQ(*axis_flags(AxisSet::none(), 2), (std::vector<bool>{false, false}));
  EXPECT_EQ(axis_flags({1, -1}, 2).error().message(), "axes names axis 1 twice");
  EXPECT_EQ(axis_flags({3}, 2).error().message(), "axes names axis 3, but the input has 2 axes");
  EXPECT_EQ(axis_flags({-2}, 1).error().message(), "axes names axis -2, but the input has 1 axis");
}

TEST(Request, ProblemsCountWhatTheyMove) {
  const Problem softmax = make_problem(softmax_of({64, 512, 4096}, {1})).value();
  EXPECT_EQ(softmax.count, 512);
  EXPECT_EQ(softmax.outputs, Index{64} * 512 * 4096);
  EXPECT_EQ(softmax.bytes_in() + softmax.bytes_out(), 2.0 * 4 * 64 * 512 * 4096);
  ViewDesc broadcast = dense(DType::f32, {8, 100});
  broadcast.strides = {0, 1};
  EXPECT_EQ(make_problem(reduce_of(ReduceOp::sum, broadcast, {0}))->bytes_in(), 400);
  EXPECT_EQ(make_problem(reduce_of(ReduceOp::sum, broadcast, {0}))->axes.repeat, 8);
}

TEST(Request, RefusesWithOneSentence) {
  Request wrong_shape = sum_of({2, 3}, {1});
  wrong_shape.out = dense(DType::f32, {3});
  EXPECT_EQ(refusal(wrong_shape).message(), "out has size 3 along axis 0, the result has 2");
  EXPECT_EQ(refusal(reduce_of(ReduceOp::max, dense(DType::f32, {4, 0}), {1})).message(),
            "max of no elements has no value: in has sizes [4, 0]");
  EXPECT_TRUE(refusal(reduce_of(ReduceOp::max, dense(DType::f32, {0, 4}), {1})).ok());
  EXPECT_EQ(refusal(softmax_of(dense(DType::i32, {4}), {0})).message(),
            "softmax of i32 into i32: both must be floating types");
  Request limit = sum_of({4}, {0});
  limit.options.block_limit = -1;
  EXPECT_EQ(refusal(limit).message(), "block_limit is -1, it must be at least 0");
  EXPECT_EQ(refusal(forced(sum_of({4}, {0}), "magic")).code(), Code::invalid_argument);
}

TEST(Request, KeptAxesStayWithSizeOne) {
  Request request = sum_of({2, 3, 4}, {0, 2});
  request.reduce.keep_axes = true;
  request.out = dense(DType::f32, {1, 3, 1});
  EXPECT_EQ(make_problem(request)->axes.kept, (std::vector<Axis>{{3, 4, 1}}));
  request.out = dense(DType::f32, {3});
  EXPECT_FALSE(make_problem(request));
}

}  // namespace
}  // namespace ndfold::test
