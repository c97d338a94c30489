// Every fold, every element type, every type of a softmax: rows and columns of a block, aligned and not.
#include "tests/simt/forced.h"

namespace simt {
namespace {

const DeviceFacts kDevice = small(DeviceFacts::h200(), 2);
constexpr const char* kBlocks[] = {"rows_in_block", "columns_in_block", "permute_then_rows"};

Values values_for(ReduceOp op, DType type) {
  if (op == ReduceOp::prod) return Values::factors;
  return type == DType::boolean || op == ReduceOp::any || op == ReduceOp::all ? Values::ties : Values::mixed;
}

void reduce(const ReduceSpec& spec, DType type, Index shift, Tally& tally) {
  for (const std::string strategy : kBlocks) {
    SCOPED_TRACE(::testing::Message() << name(spec.op) << ' ' << name(type) << ' ' << strategy << " shift " << shift);
    Array in(lay_out(type, {3, 5, 37}, shift == 0 ? Layout::row_major : Layout::padded, 3), shift);
    Array out(dense(default_output(spec.op, type), output_sizes(in.desc().sizes, spec.axes)), shift);
    fill(in, values_for(spec.op, type), 3);
    run_forced(spec, in, out, kDevice, strategy, tally);
  }
}

TEST(types, every_fold) {
  Tally tally;
  for (int op = 0; op < kReduceOpCount; ++op)
    for (const AxisSet& axes : {AxisSet{2}, AxisSet{1}, AxisSet{0, 2}})
      for (const bool compensated : {false, true}) {
        const ReduceSpec spec{.op = static_cast<ReduceOp>(op), .axes = axes, .compensated = compensated};
        if (!compensated || spec.op == ReduceOp::sum || spec.op == ReduceOp::mean)
          reduce(spec, DType::f32, op % 4, tally);
      }
  EXPECT_EQ(tally.strategies.size(), 3u);
}

TEST(types, every_element_type) {
  Tally tally;
  for (int type = 1; type < kDTypeCount; ++type)
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::argmax, ReduceOp::any})
      for (const AxisSet& axes : {AxisSet{2}, AxisSet{0}})
        reduce({.op = op, .axes = axes}, static_cast<DType>(type), type % 2 == 0 ? 3 : 0, tally);
  EXPECT_EQ(tally.strategies.size(), 3u);
}

TEST(types, every_softmax) {
  Tally tally;
  constexpr std::pair<DType, DType> kTypes[] = {{DType::f32, DType::f32}, {DType::bf16, DType::bf16},
                                                {DType::f16, DType::f16}, {DType::f16, DType::f32},
                                                {DType::f32, DType::f16}, {DType::f64, DType::f64}};
  for (const auto& [from, to] : kTypes)
    for (const AxisSet& axes : {AxisSet{2}, AxisSet{1}, AxisSet{0, 2}})
      for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
        for (const std::string strategy : kBlocks) {
          SCOPED_TRACE(::testing::Message() << name(from) << "→" << name(to) << ' ' << strategy);
          Array in(lay_out(from, {3, 5, 37}, Layout::row_major), 1), out(lay_out(to, {3, 5, 37}, Layout::padded), 2);
          fill(in, Values::mixed);
          run_forced(SoftmaxSpec{.axes = axes, .kind = kind}, in, out, kDevice, strategy, tally);
        }
  EXPECT_EQ(tally.strategies.size(), 3u);
}

// Panels that a few columns begin, in blocks that share columns; and outputs that lie backwards.
TEST(types, softmax_of_columns) {
  Tally tally;
  for (const DType type : {DType::f32, DType::f64, DType::bf16})
    for (const Layout layout : {Layout::row_major, Layout::reversed, Layout::padded})
      for (const std::string strategy : {"columns_in_block", "columns_in_cluster", "columns_in_grid"}) {
        SCOPED_TRACE(::testing::Message() << name(type) << ' ' << strategy << ' ' << static_cast<int>(layout));
        for (const Sizes& sizes : {Sizes{900, 40}, Sizes{4, 630}, Sizes{130, 65}}) {
          Array in(lay_out(type, sizes, layout)), out(lay_out(type, sizes, layout));
          fill(in, Values::mixed);
          run_forced(SoftmaxSpec{.axes = {0}}, in, out, kDevice, strategy, tally);
        }
      }
  EXPECT_EQ(tally.strategies.size(), 3u);
}

// NaN, infinities, zeros and subnormals at the first, the last and other places of rows.
TEST(types, special_values) {
  Tally tally;
  const Row specials = ndfold::test::specials(DType::f32);
  for (std::size_t i = 0; i < specials.size(); ++i)
    for (const Index place : {0, 44, 21})
      for (const std::string strategy : kBlocks) {
        SCOPED_TRACE(::testing::Message() << "special " << i << " at " << place << ' ' << strategy);
        Array in(dense(DType::f32, {7, 45}), 1), soft(dense(DType::f32, {7, 45}));
        fill(in, Values::mixed);
        in.set(2 * 45 + place, specials[i]);
        in.set(5 * 45 + 44 - place, specials[i]);
        for (const AxisSet& axes : {AxisSet{1}, AxisSet{0}}) {
          run_forced(SoftmaxSpec{.axes = axes}, in, soft, kDevice, strategy, tally);
          for (const ReduceOp op :
               {ReduceOp::sum, ReduceOp::max, ReduceOp::argmin, ReduceOp::var, ReduceOp::logsumexp}) {
            Array out(dense(default_output(op, DType::f32), output_sizes(in.desc().sizes, axes)));
            run_forced(ReduceSpec{.op = op, .axes = axes}, in, out, kDevice, strategy, tally);
          }
        }
      }
}

TEST(types, permutations) {
  Tally tally;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const std::size_t rank = seed % 6;
    Sizes sizes, permuted;
    Order order;
    for (std::size_t i = 0; i < rank; ++i)
      sizes.push_back(1 + static_cast<Index>(hash(seed * 8 + i) % (rank < 3 ? 90 : 9)));
    for (const std::size_t axis : random_order(rank, seed)) {
      order.axes.push_back(static_cast<int>(axis));
      permuted.push_back(sizes[axis]);
    }
    constexpr DType kTypes[] = {DType::u8, DType::bf16, DType::f32, DType::f64};
    const DType type = kTypes[seed % 4];
    SCOPED_TRACE(::testing::Message() << "seed " << seed << ' ' << name(type));
    Array in(lay_out(type, sizes, kLayouts[seed % 9], seed), static_cast<Index>(seed % 3));
    Array out(lay_out(type, permuted, seed % 2 == 0 ? Layout::row_major : Layout::stepped, seed), 1);
    fill(in, Values::bits, seed);
    run_forced(order, in, out, kDevice, "copy", tally);
  }
  EXPECT_EQ(tally.strategies["copy"], 40);
}

TEST(types, softmax_in_place) {
  Tally tally;
  for (const std::string strategy : kGpuStrategies)
    for (const AxisSet& axes : {AxisSet{1}, AxisSet{0}}) {
      SCOPED_TRACE(strategy);
      Array array(lay_out(DType::f32, {40, 300}, Layout::padded, 6), 1);
      fill(array, Values::mixed);
      run_forced(SoftmaxSpec{.axes = axes}, array, array, kDevice, strategy, tally);
    }
  EXPECT_GE(tally.strategies.size(), 9u);
}

}  // namespace
}  // namespace simt
