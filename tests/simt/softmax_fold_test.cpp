// Softmaxes and logsumexp of numbers whose products are rounded to more than a power bears: masks of -1e10 and of the
// lowest number there is, all alike or beside ordinary ones, by every strategy, with scales that round and that do not.
#include "tests/simt/forced.h"

namespace simt {
namespace {

constexpr double kHuge[] = {-2.6e8, -1e10, -3.4028234663852886e38, 1.5e20};

enum class Filling { all, all_but_some, by_turns };

Array filled(DType type, const Sizes& sizes, double huge, Filling filling) {
  Array in(lay_out(type, sizes, Layout::row_major, 1));
  fill(in, Values::mixed);
  const auto places = in.elements();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const bool is_huge = filling == Filling::all || (filling == Filling::all_but_some ? i % 7 != 0 : i % 2 == 0);
    if (is_huge) in.set(places[i], filling == Filling::by_turns && i % 4 == 0 ? huge / 2 : huge);
  }
  return in;
}

struct Lines {
  Sizes sizes;
  int axis;
};
const Lines kLines[] = {{{3, 100}, 1}, {{1, 1200}, 1}, {{90, 5}, 1}, {{60, 64}, 0}, {{90, 61}, 0}};

// Calls run(strategy, lines) for those that the simulator has kernels of.
template <class Run>
void each_strategy(DType type, const Run& run) {
  for (const char* strategy : kFoldingStrategies)
    for (const Lines& lines : kLines)
      if (type == DType::f32 || std::string_view(strategy) != "softmax_chain") run(strategy, lines);
}

void run_all(DType type, double huge, Filling filling, Tally& tally) {
  const DeviceFacts device = small(DeviceFacts::h200(), 2);
  each_strategy(type, [&](const char* strategy, const Lines& lines) {
    SCOPED_TRACE(::testing::Message() << huge << ' ' << static_cast<int>(filling) << ' ' << name(type) << ' '
                                      << ::testing::PrintToString(lines.sizes) << ' ' << strategy);
    Array in = filled(type, lines.sizes, huge, filling), out(lay_out(type, lines.sizes, Layout::row_major, 1));
    run_forced(SoftmaxSpec{.axes = {lines.axis}}, in, out, device, strategy, tally);
    if (filling == Filling::all_but_some) return;
    run_forced(SoftmaxSpec{.axes = {lines.axis}, .kind = SoftmaxKind::log_softmax}, in, out, device, strategy, tally);
    Array sums(lay_out(DType::f32, output_sizes(lines.sizes, {lines.axis}), Layout::row_major, 1));
    run_forced(ReduceSpec{.op = ReduceOp::logsumexp, .axes = {lines.axis}}, in, sums, device, strategy, tally);
  });
}

TEST(softmax_fold, huge_numbers) {
  Tally tally;
  for (const double huge : kHuge)
    for (const Filling filling : {Filling::all, Filling::by_turns}) run_all(DType::f32, huge, filling, tally);
  run_all(DType::f32, -1e10, Filling::all_but_some, tally);
  run_all(DType::bf16, -1e10, Filling::all, tally);
  run_all(DType::bf16, -3.38e38, Filling::by_turns, tally);
  for (const char* strategy : {"rows_in_bundles", "rows_in_lanes", "rows_in_block", "columns_in_block", "split"})
    EXPECT_GT(tally.strategies[strategy], 0) << strategy;
}

// Where nothing else is there, whatever the scale does to it.
TEST(softmax_fold, huge_numbers_scaled) {
  Tally tally;
  for (const double huge : {-1e10, -3e37, 1e12})
    for (const double scale : {0.125, 0.10206207, -3.0})
      each_strategy(DType::f32, [&](const char* strategy, const Lines& lines) {
        SCOPED_TRACE(::testing::Message()
                     << huge << " * " << scale << ' ' << ::testing::PrintToString(lines.sizes) << ' ' << strategy);
        Array in = filled(DType::f32, lines.sizes, huge, Filling::all);
        Array out(lay_out(DType::f32, lines.sizes, Layout::row_major, 1));
        const DeviceFacts device = small(DeviceFacts::h200(), 2);
        run_forced(SoftmaxSpec{.axes = {lines.axis}, .scale = scale}, in, out, device, strategy, tally);
      });
  EXPECT_GT(tally.strategies["split"], 0);
}

}  // namespace
}  // namespace simt
