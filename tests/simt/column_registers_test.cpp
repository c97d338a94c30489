// Softmaxes of columns that wait in registers: every class of lanes, whole packs and columns apart, rows of several
// axes, and numbers that are none.
#include "tests/simt/forced.h"

namespace simt {
namespace {

const std::string kStrategy = "columns_in_block";

struct Of {
  DType type = DType::f32;
  SoftmaxSpec spec = {.axes = {0}};
  Layout in = Layout::row_major, out = Layout::row_major;
  Index in_shift = 0, out_shift = 0;
  int threads = 1024;
};

// One block keeps the device busy, so that a few thousand columns are wide.
PlanOptions options(const Of& of) {
  DeviceFacts device = small(DeviceFacts::h200(), 1);
  device.threads_per_block = of.threads;
  return {.device = device, .strategy = kStrategy};
}

Residency residency_of(const Array& in, const Array& out, const Of& of) {
  const auto plan = plan_for(of.spec, in.desc(), out.desc(), options(of));
  return plan ? plan->steps().front().kernel.residency : Residency::none;
}

void softmax(const Sizes& sizes, const Of& of, Tally& tally) {
  SCOPED_TRACE(::testing::Message() << name(of.type) << ' ' << ::testing::PrintToString(sizes) << ' ' << name(of.in)
                                    << "→" << name(of.out) << ' ' << of.in_shift << ' ' << of.out_shift << ' '
                                    << of.threads);
  Array in(lay_out(of.type, sizes, of.in, 5), of.in_shift), out(lay_out(of.type, sizes, of.out, 3), of.out_shift);
  fill(in, Values::mixed);
  EXPECT_EQ(residency_of(in, out, of), Residency::registers);
  run_forced(of.spec, in, out, options(of).device, kStrategy, tally);
}

TEST(column_registers, rows_and_columns) {
  Tally tally;
  for (const Index rows : {2, 4, 5, 8, 9, 16, 31, 33, 64, 100, 300, 512})
    for (const Index columns : {4, 37, 130, 515})
      for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
        softmax({rows, columns}, {.spec = {.axes = {0}, .kind = kind, .scale = -0.5, .alpha = 3}}, tally);
  EXPECT_EQ(tally.strategies[kStrategy], 96);
}

TEST(column_registers, wide_panels) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16, DType::f16})
    for (const Index shift : {0, 3})
      for (const Sizes& sizes : {Sizes{3, 9217}, Sizes{4, 9216}, Sizes{11, 4600}, Sizes{35, 2100}, Sizes{150, 1030}})
        softmax(sizes, {.type = type, .in_shift = shift, .out_shift = shift}, tally);
  EXPECT_EQ(tally.strategies[kStrategy], 30);
}

// Of 16 bits the elements stay, and of a negative scale the least is looked for; rows that are missing count for nothing.
TEST(column_registers, halves) {
  Tally tally;
  for (const DType type : {DType::bf16, DType::f16})
    for (const Index rows : {3, 5, 8, 10, 15, 33, 100, 256})
      for (const Index columns : {8, 132, 515})
        for (const double scale : {-0.5, 0.0, 2.0}) {
          const SoftmaxKind kind = rows % 2 == 0 ? SoftmaxKind::softmax : SoftmaxKind::log_softmax;
          softmax({rows, columns}, {.type = type, .spec = {.axes = {0}, .kind = kind, .scale = scale}}, tally);
        }
  EXPECT_EQ(tally.strategies[kStrategy], 144);
}

TEST(column_registers, rows_of_several_axes_and_any_layout) {
  Tally tally;
  for (const Layout layout : {Layout::row_major, Layout::padded, Layout::reversed, Layout::stepped})
    for (const Index shift : {0, 1}) {
      softmax({3, 5, 2, 40}, {.spec = {.axes = {0, 2}}, .out = layout, .in_shift = shift}, tally);
      softmax({2, 7, 3, 5, 33}, {.type = DType::bf16, .spec = {.axes = {1, 3}}, .out = layout, .out_shift = shift},
              tally);
    }
  softmax({2, 3, 2, 3, 2, 3, 2, 3, 2, 17}, {.spec = {.axes = {0, 2, 4, 6, 8}}}, tally);
  for (const Layout layout : {Layout::padded, Layout::stepped, Layout::reversed})
    for (const Index shift : {0, 1})
      softmax({6, 20, 132}, {.spec = {.axes = {1}}, .in = layout, .out = layout, .in_shift = shift}, tally);
  softmax({6, 20, 132}, {.spec = {.axes = {1}}, .out = Layout::column_major}, tally);
  EXPECT_EQ(tally.strategies[kStrategy], 24);
}

TEST(column_registers, in_place) {
  Tally tally;
  for (const Layout layout : {Layout::row_major, Layout::stepped, Layout::reversed})
    for (std::uint64_t number = 0; number < 20; ++number) {
      Array data(lay_out(DType::f32, {5, 33, 14}, layout, number), static_cast<Index>(number % 5));
      for (const DeviceFacts& device : {options({}).device, DeviceFacts::h200()}) {
        fill(data, Values::mixed);
        run_forced(SoftmaxSpec{.axes = {0}}, data, data, device, kStrategy, tally);
      }
    }
  EXPECT_EQ(tally.strategies[kStrategy], 120);
}

void special_values_of(DType type, double scale, Tally& tally) {
  for (const Real special : specials(type))
    for (const Sizes& sizes : {Sizes{7, 45}, Sizes{30, 40}, Sizes{90, 33}})
      for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax}) {
        SCOPED_TRACE(::testing::Message() << name(type) << ' ' << static_cast<double>(special) << ' '
                                          << ::testing::PrintToString(sizes) << ' ' << scale);
        const Of of{.spec = {.axes = {0}, .kind = kind, .scale = scale}};
        Array in(dense(type, sizes), 1), out(dense(type, sizes));
        fill(in, Values::mixed);
        for (Index row = 0; row < sizes[0]; ++row) in.set(row * sizes[1] + 3, special);  // a column of nothing else
        in.set(4, special);
        in.set((sizes[0] - 1) * sizes[1] + 5, special);
        EXPECT_EQ(residency_of(in, out, of), Residency::registers);
        run_forced(of.spec, in, out, options(of).device, kStrategy, tally);
      }
}

TEST(column_registers, special_values) {
  Tally tally;
  special_values_of(DType::f32, 1, tally);
  EXPECT_EQ(tally.strategies[kStrategy], 48);
  for (const DType type : {DType::bf16, DType::f16})
    for (const double scale : {1.0, 0.0, -1.0}) special_values_of(type, scale, tally);
  EXPECT_EQ(tally.strategies[kStrategy], 7 * 48);
}

TEST(column_registers, blocks_of_any_size) {
  Tally tally;
  for (const int threads : {64, 70, 96, 128, 192})
    for (const Sizes& sizes : {Sizes{4, 700}, Sizes{24, 259}, Sizes{60, 65}})
      softmax(sizes, {.threads = threads}, tally);
  EXPECT_EQ(tally.strategies[kStrategy], 15);
}

}  // namespace
}  // namespace simt
