// Small shapes that reach each kernel, for compute-sanitizer: every buffer is an allocation of its own, of exactly its
// bytes, and nothing that a run has to write was written before.
#include "tests/gpu/trial.h"
#include "tests/support/strategies.h"

namespace ndfold::test {
namespace {

class sanitizer : public OnDevice {
 protected:
  /// An input whose element 0 lies `shift` elements behind a line of memory; nothing before it is anybody's.
  void expect_right_in_exact_memory(const AnyRequest& request, const ViewDesc& from, const ViewDesc& to, Values values,
                                    const DeviceFacts& device, const std::string& strategy, Index shift) {
    const auto plan = plan_for(request, from, to, {.device = device, .strategy = strategy});
    if (!plan) return;
    ++runs_;
    Array in(from), out(to);
    fill(in, values);
    const auto width = static_cast<Index>(size_bytes(from.dtype));
    const Span span = span_of(from);
    const auto bytes = static_cast<std::size_t>((span.high - span.low + 1) * width);
    const auto out_bytes = out.elements().size() * size_bytes(to.dtype);
    const Memory in_memory(static_cast<std::size_t>(shift * width) + bytes), out_memory(out_bytes),
        workspace(plan->workspace_bytes());
    std::byte* const first = in_memory.data() + shift * width;
    // initcheck takes no more than 32 bytes of a bulk store for written: here they were, by something else.
    if (strategy == "rows_in_bundles" || strategy == "columns_in_bundles")
      queue_.upload(out_memory.data(), std::vector<std::byte>(out_bytes, std::byte{0xa5}).data(), out_bytes);
    queue_.upload(first, static_cast<std::byte*>(in.data()) + span.low * width, bytes);
    const Status status = plan->run(first - span.low * width, out_memory.data(),
                                    {.data = workspace.data(), .bytes = plan->workspace_bytes()}, queue_.get());
    ASSERT_TRUE(status.ok()) << status.message();
    queue_.download(out.data(), out_memory.data(), out_bytes);
    Real worst = 0;
    const auto expected = std::visit([&](const auto& spec) { return expected_of(spec, in, to); }, request);
    EXPECT_EQ(judge(expected, out, false, sign_counts(request), worst), "") << plan->explain();
  }

  void expect_each(const AnyRequest& request, DType type, DType output, const Sizes& sizes, const Sizes& out,
                   Values values = Values::mixed) {
    for (const auto& [layout, shift] : {std::pair(Layout::row_major, Index{1}), std::pair(Layout::row_major, Index{0}),
                                        std::pair(Layout::stepped, Index{0})})
      for (const std::string strategy : kReadingStrategies) {
        SCOPED_TRACE(strategy + ' ' + std::string(name(type)) + ' ' + ::testing::PrintToString(sizes));
        expect_right_in_exact_memory(request, lay_out(type, sizes, layout, 2), dense(output, out), values, small(),
                                     strategy, shift);
      }
  }

  /// So few multiprocessors and so little shared memory that small tiles are shared, and taken in turns; and no cache,
  /// so that panels overlap.
  static DeviceFacts small() {
    DeviceFacts device = facts();
    device.multiprocessors = 3;
    device.cache_bytes = 0;
    device.shared_bytes_per_multiprocessor = 32 * 1024;
    device.shared_bytes_per_block = 31 * 1024;
    return device;
  }

  void expect_reduced(ReduceOp op, DType type, Values values) {
    struct Shape {
      Sizes sizes;
      AxisSet axes;
    };
    const Shape kShapes[] = {{{3, 2300}, {1}},     {{9, 333}, {1}},  {{701, 24}, {1}},   {{7, 3, 40}, {0, 2}},
                             {{7, 3, 41}, {0, 2}}, {{700, 19}, {0}}, {{30, 40, 7}, {1}}, {{30, 5, 8, 7}, {1, 3}}};
    for (const Shape& shape : kShapes) {
      const Sizes out = output_sizes(shape.sizes, shape.axes);
      expect_each(ReduceSpec{.op = op, .axes = shape.axes}, type, default_output(op, type), shape.sizes, out, values);
    }
  }

  void expect_soft(DType type) {
    for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax}) {
      expect_each(SoftmaxSpec{.axes = {1}, .kind = kind}, type, type, {3, 4500}, {3, 4500});
      expect_each(SoftmaxSpec{.axes = {1}, .kind = kind}, type, type, {40, 70}, {40, 70});
      expect_each(SoftmaxSpec{.axes = {1}, .kind = kind}, type, type, {701, 16}, {701, 16});
      expect_each(SoftmaxSpec{.axes = {1}, .kind = kind}, type, type, {5, 1001}, {5, 1001});
      expect_each(SoftmaxSpec{.axes = {1}, .kind = kind}, type, type, {2, 20001}, {2, 20001});
      expect_each(SoftmaxSpec{.axes = {1, 3}, .kind = kind}, type, type, {4, 6, 5, 40}, {4, 6, 5, 40});
      expect_each(SoftmaxSpec{.axes = {1, 3}, .kind = kind}, type, type, {4, 6, 5, 41}, {4, 6, 5, 41});
      expect_each(SoftmaxSpec{.axes = {1}, .kind = kind}, type, type, {30, 40, 7}, {30, 40, 7});
      expect_each(SoftmaxSpec{.axes = {1, 3}, .kind = kind}, type, type, {30, 5, 8, 7}, {30, 5, 8, 7});
      expect_each(SoftmaxSpec{.axes = {0}, .kind = kind}, type, type, {1300, 9}, {1300, 9});
      expect_each(SoftmaxSpec{.axes = {0}, .kind = kind}, type, type, {40, 70}, {40, 70});
      expect_each(SoftmaxSpec{.axes = {0}, .kind = kind}, type, type, {40, 603}, {40, 603});
    }
  }

  void TearDown() override {
    RecordProperty("runs", runs_);
    EXPECT_TRUE(runs_ > 0 || !absence().empty() || IsSkipped());
  }

  int runs_ = 0;
  Queue queue_;
};

TEST_F(sanitizer, softmax_f32) { expect_soft(DType::f32); }
TEST_F(sanitizer, softmax_f16) { expect_soft(DType::f16); }
TEST_F(sanitizer, softmax_bf16) { expect_soft(DType::bf16); }
TEST_F(sanitizer, softmax_f64) { expect_soft(DType::f64); }

// Rings need all of the shared memory of a multiprocessor.
TEST_F(sanitizer, tiles_that_travel) {
  struct Shape {
    Sizes sizes;
    AxisSet axes;
    const char* strategy;
  };
  const Shape kShapes[] = {{{1501, 12}, {0}, "columns_in_grid"},      {{1501, 144}, {0}, "columns_in_grid"},
                           {{1501, 137}, {0}, "columns_in_grid"},     {{27, 3, 41, 72}, {0, 2}, "columns_in_grid"},
                           {{5, 17003}, {1}, "rows_in_grid"},         {{3, 160001}, {1}, "rows_in_grid"},
                           {{4, 130, 3, 264}, {1, 3}, "rows_in_grid"}};
  DeviceFacts device = facts();
  if (device.kind != DeviceKind::cuda) GTEST_SKIP() << "a CPU has no rings";
  device.multiprocessors = 2;
  device.cache_bytes = 0;
  for (const DType type : {DType::f32, DType::bf16})
    for (const auto& [sizes, axes, strategy] : kShapes)
      for (const Index shift : {0, 1}) {
        SCOPED_TRACE(::testing::Message() << strategy << ' ' << name(type) << ' ' << ::testing::PrintToString(sizes));
        expect_right_in_exact_memory(SoftmaxSpec{.axes = axes}, dense(type, sizes), dense(type, sizes), Values::mixed,
                                     device, strategy, shift);
      }
}

TEST_F(sanitizer, every_fold) {
  for (int op = 0; op < kReduceOpCount; ++op) {
    const auto which = static_cast<ReduceOp>(op);
    expect_reduced(which, DType::f32, which == ReduceOp::prod ? Values::factors : Values::mixed);
  }
}

TEST_F(sanitizer, every_element_type) {
  for (int type = 1; type < kDTypeCount; ++type)
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::argmax, ReduceOp::any})
      expect_reduced(op, static_cast<DType>(type), Values::whole);
}

TEST_F(sanitizer, moves) {
  for (const DType type : {DType::u8, DType::f16, DType::f32, DType::f64})
    for (const auto& [order, out] :
         {std::pair(Order{{1, 0, 2}}, Sizes{40, 9, 33}), std::pair(Order{{2, 1, 0}}, Sizes{33, 40, 9}),
          std::pair(Order{{0, 1, 2}}, Sizes{9, 40, 33})})
      expect_each(order, type, type, {9, 40, 33}, out, Values::bits);
}

}  // namespace
}  // namespace ndfold::test
