// NaN, infinities, zeros and subnormals on the device, where vectors, warps and blocks begin and end.
#include "tests/gpu/trial.h"

namespace ndfold::test {
namespace {

constexpr DType kFloats[] = {DType::f32, DType::f64, DType::f16, DType::bf16};
constexpr const char* kStrategies[] = {"",     "rows_in_bundles", "rows_in_lanes", "rows_in_block", "columns_in_block",
                                       "split"};
constexpr ReduceOp kOps[] = {
    ReduceOp::sum,           ReduceOp::max,  ReduceOp::min, ReduceOp::argmax, ReduceOp::argmin,
    ReduceOp::mean,          ReduceOp::var,  ReduceOp::any, ReduceOp::all,    ReduceOp::logsumexp,
    ReduceOp::count_nonzero, ReduceOp::linf, ReduceOp::l2,  ReduceOp::sumsq,  ReduceOp::l1};

class specials : public OnDevice {};

void add(std::vector<Trial>& trials, const std::string& name, const Sizes& sizes, DType type, const AxisSet& axes,
         const std::string& strategy, const Touch& touch) {
  const ViewDesc in = dense(type, sizes);
  const auto trial = [&](const std::string& what, const AnyRequest& request, const ViewDesc& out) {
    trials.push_back({.name = what + ' ' + std::string(ndfold::name(type)) + ' ' + name + " axes " + text(axes),
                      .request = request,
                      .in = in,
                      .out = out,
                      .in_shift = 1,
                      .touch = touch,
                      .strategy = strategy,
                      .replays = 0});
  };
  trial("softmax", SoftmaxSpec{.axes = axes}, in);
  trial("log_softmax", SoftmaxSpec{.axes = axes, .kind = SoftmaxKind::log_softmax}, in);
  for (const ReduceOp op : kOps)
    trial(std::string(ndfold::name(op)), ReduceSpec{.op = op, .axes = axes},
          dense(default_output(op, type), output_sizes(sizes, axes)));
}

// In one row and one column, at first, last and other places.
TEST_F(specials, one_among_others) {
  constexpr Index kRows = 7, kColumns = 45;
  std::vector<Trial> trials;
  for (const DType type : kFloats) {
    const Row values = ndfold::test::specials(type);
    for (std::size_t i = 0; i < values.size(); ++i)
      for (const Index at : {Index{0}, kColumns - 1, Index{31}})
        for (const char* strategy : kStrategies)
          for (const AxisSet& axes : {AxisSet{1}, AxisSet{0}})
            add(trials, "special " + std::to_string(i) + " at " + std::to_string(at), {kRows, kColumns}, type, axes,
                strategy, [at, x = values[i]](Array& in, std::uint64_t) {
                  in.set(2 * kColumns + at, x);
                  in.set(5 * kColumns + kColumns - 1 - at, x);
                });
  }
  expect_right(trials);
}

// Rows of one value, and rows of two that quarrel.
TEST_F(specials, whole_rows) {
  const Row kPairs[] = {{-kInfinity},    {kInfinity},       {kNaN},
                        {0.0L, -0.0L},   {-0.0L},           {kInfinity, -kInfinity},
                        {-kInfinity, 1}, {kNaN, kInfinity}, {-kInfinity, kNaN},
                        {65504, -65504}, {-1e10L},          {-1e10L, 3}};
  std::vector<Trial> trials;
  for (const DType type : {DType::f32, DType::f16})
    for (std::size_t i = 0; i < std::size(kPairs); ++i)
      for (const char* strategy : kStrategies)
        for (const AxisSet& axes : {AxisSet{1}, AxisSet{0}, AxisSet{0, 1}})
          add(trials, "of kind " + std::to_string(i), {5, 67}, type, axes, strategy,
              [row = kPairs[i]](Array& in, std::uint64_t) { fill_with(in, row); });
  expect_right(trials);
}

// Where blocks that share a row end: the cluster's and the grid's exchanges.
TEST_F(specials, where_blocks_meet) {
  constexpr Index kLong = 40000;
  std::vector<Trial> trials;
  for (const char* strategy : {"rows_in_cluster", "rows_in_grid", "split", "softmax_chain"})
    for (const Real x : {kNaN, kInfinity, -kInfinity})
      for (const Index at : {Index{0}, kLong / 2 - 1, kLong / 2, kLong - 1})
        for (const bool alone : {false, true})
          trials.push_back({.name = "a row of 40000 with a special at " + std::to_string(at),
                            .request = SoftmaxSpec{.axes = {1}},
                            .in = dense(DType::f32, {2, kLong}),
                            .out = dense(DType::f32, {2, kLong}),
                            .touch =
                                [=](Array& in, std::uint64_t) {
                                  if (alone) fill_with(in, -kInfinity);
                                  in.set(kLong + at, x);
                                },
                            .strategy = strategy,
                            .replays = 0});
  expect_right(trials);
}

}  // namespace
}  // namespace ndfold::test
