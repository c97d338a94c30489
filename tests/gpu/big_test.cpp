// More than 2^32 elements and rows of more than 2^31, in real memory and through strides of 0: results known in closed
// form. The host in a GPU's place runs the same with few elements.
#include "tests/gpu/trial.h"

namespace ndfold::test {
namespace {

constexpr Index kSpare = 1034;  // a place as far before the end of a row

/// Elements of a row: odd, so that the second one is misaligned.
Index long_row() { return is_gpu() ? (Index{1} << 31) + 1037 : 1037; }
/// Elements through a stride of 0.
Index many() { return is_gpu() ? (Index{1} << 32) + 3 : 4099; }

class big : public OnDevice {
 protected:
  void need(Index bytes) {
    if (static_cast<Index>(free_bytes()) < bytes + (Index{1} << 28))
      GTEST_SKIP() << "needs " << bytes << " bytes of device memory, " << free_bytes() << " are free";
  }

  /// False when the strategy cannot do it.
  bool run(const AnyRequest& request, const void* in, const ViewDesc& from, void* out, const ViewDesc& to,
           const std::string& strategy = "") {
    const auto plan = plan_for(request, from, to, {.device = facts(), .strategy = strategy});
    if (!plan && !strategy.empty()) return false;
    EXPECT_TRUE(plan) << plan.error().message();
    if (!plan) return false;
    const Memory workspace(plan->workspace_bytes());
    queue_.fill(workspace.data(), 0xff, plan->workspace_bytes());
    const Status status =
        plan->run(in, out, {.data = workspace.data(), .bytes = plan->workspace_bytes()}, queue_.get());
    EXPECT_TRUE(status.ok()) << status.message();
    queue_.wait();
    return true;
  }

  /// The few outputs of a reduction; none when the strategy cannot do it.
  Row reduced(const ReduceSpec& spec, const void* in, const ViewDesc& from, const std::string& strategy = "") {
    const ViewDesc to = dense(default_output(spec.op, from.dtype), output_sizes(from.sizes, spec.axes));
    Array out(to);
    const Memory memory(out.total_bytes());
    queue_.upload(memory.data(), out.bytes(), out.total_bytes());
    std::byte* const data = memory.data() + (static_cast<std::byte*>(out.data()) - out.bytes());
    if (!run(spec, in, from, data, to, strategy)) return {};
    queue_.download(out.bytes(), memory.data(), out.total_bytes());
    EXPECT_TRUE(out.gaps_untouched());
    Row row;
    for (const Index place : out.elements()) row.push_back(out.get(place));
    return row;
  }
  Row of_all(ReduceOp op, const void* in, DType type, Index elements) {
    return reduced({.op = op, .axes = {0}}, in, dense(type, {elements}));
  }
  void expect_all_near(const void* in, DType type, Index elements, Real value, Real relative) {
    for (const ReduceOp op : {ReduceOp::min, ReduceOp::max})
      for (const Real x : of_all(op, in, type, elements))
        EXPECT_LE(std::fabs(x - value), relative * std::fabs(value)) << name(op) << ' ' << x << ", not " << value;
  }

  Queue queue_;
};

/// Two long rows of 1, but for a 200 at the first one's end, and in the second a 0 and at its end a 255.
struct Marked {
  explicit Marked(Queue& queue) : memory(static_cast<std::size_t>(2 * long_row())) {
    const Index end = 2 * long_row();
    queue.fill(memory.data(), 1, static_cast<std::size_t>(end));
    const std::pair<Index, unsigned char> kMarks[] = {{long_row() - 1, 200}, {end - kSpare, 0}, {end - 1, 255}};
    for (const auto& [place, mark] : kMarks) queue.upload(memory.data() + place, &mark, 1);
    queue.wait();
  }
  Memory memory;
};

/// What is left of an op when outputs see only some of the marks: how many elements, and which marks.
Real expected(ReduceOp op, Index elements, const std::vector<int>& marks) {
  Real sum = static_cast<Real>(elements) - static_cast<Real>(marks.size());
  Real largest = 1, smallest = 1, zeros = 0;
  for (const int mark : marks) {
    sum += mark;
    largest = std::max<Real>(largest, mark);
    smallest = std::min<Real>(smallest, mark);
    zeros += mark == 0;
  }
  switch (op) {
    case ReduceOp::sum: return sum;
    case ReduceOp::max: return largest;
    case ReduceOp::min: return smallest;
    case ReduceOp::count_nonzero: return static_cast<Real>(elements) - zeros;
    default: return zeros == 0 ? 1 : 0;  // all
  }
}

constexpr ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::max, ReduceOp::min, ReduceOp::count_nonzero, ReduceOp::all};
constexpr const char* kStrategies[] = {
    "", "rows_in_block", "rows_in_cluster", "columns_in_block", "columns_in_cluster", "split", "permute_then_rows"};

TEST_F(big, rows_beyond_2_31) {
  const Index n = long_row();
  need(2 * n);
  if (IsSkipped()) return;
  const Marked marked(queue_);
  const ViewDesc rows = dense(DType::u8, {2, n});
  for (const ReduceOp op : kOps)
    EXPECT_EQ(reduced({.op = op, .axes = {1}}, marked.memory.data(), rows),
              (Row{expected(op, n, {200}), expected(op, n, {0, 255})}))
        << name(op);
  EXPECT_EQ(reduced({.op = ReduceOp::argmax, .axes = {1}}, marked.memory.data(), rows),
            (Row{static_cast<Real>(n - 1), static_cast<Real>(n - 1)}));
  EXPECT_EQ(reduced({.op = ReduceOp::argmin, .axes = {1}}, marked.memory.data(), rows),
            (Row{0, static_cast<Real>(n - kSpare)}));
}

TEST_F(big, rows_beyond_2_31_by_each_strategy) {
  const Index n = long_row();
  need(7 * n);
  if (IsSkipped()) return;
  const Marked marked(queue_);
  int seen = 0;
  for (const char* strategy : kStrategies)
    for (const bool rows : {true, false}) {
      const ViewDesc view = rows ? dense(DType::u8, {2, n}) : dense(DType::u8, {n, 2});
      const bool odd = n % 2 == 1;  // as pairs, the 200 lies in column 0, the 255 in column 1
      ASSERT_TRUE(odd);
      const bool zero_in_0 = (2 * n - kSpare) % 2 == 0;
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max}) {
        const Row got = reduced({.op = op, .axes = {rows ? 1 : 0}}, marked.memory.data(), view, strategy);
        if (got.empty()) continue;
        const std::vector<int> first = rows || !zero_in_0 ? std::vector<int>{200} : std::vector<int>{200, 0};
        const std::vector<int> second = rows || !zero_in_0 ? std::vector<int>{0, 255} : std::vector<int>{255};
        EXPECT_EQ(got, (Row{expected(op, n, first), expected(op, n, second)})) << name(op) << ' ' << strategy;
        ++seen;
      }
    }
  EXPECT_GE(seen, 4);
}

TEST_F(big, everything_at_once) {
  const Index n = long_row();
  need(2 * n);
  if (IsSkipped()) return;
  const Marked marked(queue_);
  const ViewDesc view = dense(DType::u8, {2, n});
  for (const ReduceOp op : kOps)
    EXPECT_EQ(reduced({.op = op, .axes = {0, 1}}, marked.memory.data(), view), Row{expected(op, 2 * n, {200, 0, 255})})
        << name(op);
  EXPECT_EQ(reduced({.op = ReduceOp::argmax, .axes = {0, 1}}, marked.memory.data(), view),
            Row{static_cast<Real>(2 * n - 1)});
  EXPECT_EQ(reduced({.op = ReduceOp::argmin, .axes = {0, 1}}, marked.memory.data(), view),
            Row{static_cast<Real>(2 * n - kSpare)});
}

TEST_F(big, more_than_2_31_outputs) {
  const Index n = long_row();
  need(3 * n + (Index{1} << 20));
  if (IsSkipped()) return;
  const Marked marked(queue_);
  const Memory out(static_cast<std::size_t>(n));
  ASSERT_TRUE(run(ReduceSpec{.op = ReduceOp::max, .axes = {0}}, marked.memory.data(), dense(DType::u8, {2, n}),
                  out.data(), dense(DType::u8, {n})));
  EXPECT_EQ(of_all(ReduceOp::sum, out.data(), DType::u8, n), Row{expected(ReduceOp::sum, n, {255})});
  EXPECT_EQ(of_all(ReduceOp::argmax, out.data(), DType::u8, n), Row{static_cast<Real>(n - 1)});
  ASSERT_TRUE(run(ReduceSpec{.op = ReduceOp::all, .axes = {1}}, marked.memory.data(), dense(DType::u8, {n, 2}),
                  out.data(), dense(DType::boolean, {n})));
  EXPECT_EQ(of_all(ReduceOp::count_nonzero, out.data(), DType::boolean, n), Row{static_cast<Real>(n - 1)});
  EXPECT_EQ(of_all(ReduceOp::argmin, out.data(), DType::boolean, n), Row{static_cast<Real>((2 * n - kSpare) / 2)});
}

TEST_F(big, a_transpose_of_4_gigabytes) {
  const Index rows = is_gpu() ? 65537 : 37, columns = is_gpu() ? 65600 : 70;
  need(2 * rows * columns);
  if (IsSkipped()) return;
  const auto bytes = static_cast<std::size_t>(rows * columns);
  const Memory in(bytes), out(bytes);
  queue_.fill(in.data(), 1, bytes);
  queue_.fill(out.data(), 0xff, bytes);
  const std::pair<Index, Index> kMarks[] = {{0, 0}, {rows - 1, columns - 1}, {rows - 1, 0}, {0, columns - 1}, {20, 33}};
  unsigned char mark = 10;
  for (const auto& [row, column] : kMarks) queue_.upload(in.data() + row * columns + column, &++mark, 1);
  queue_.wait();
  ASSERT_TRUE(
      run(Order{{1, 0}}, in.data(), dense(DType::u8, {rows, columns}), out.data(), dense(DType::u8, {columns, rows})));
  mark = 10;
  for (const auto& [row, column] : kMarks) {
    unsigned char got = 0;
    queue_.download(&got, out.data() + column * rows + row, 1);
    EXPECT_EQ(got, ++mark) << "row " << row << " column " << column;
  }
  EXPECT_EQ(of_all(ReduceOp::sum, out.data(), DType::u8, rows * columns),
            Row{expected(ReduceOp::sum, rows * columns, {11, 12, 13, 14, 15})});
}

TEST_F(big, repeated_elements) {
  const Index n = many();
  const float elements[] = {0.5f, -2, 3};
  const Memory in(sizeof elements);
  queue_.upload(in.data(), elements, sizeof elements);
  queue_.wait();
  const ViewDesc view{.dtype = DType::f32, .sizes = {3, n}, .strides = {1, 0}};
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean, ReduceOp::max, ReduceOp::argmax, ReduceOp::count_nonzero,
                            ReduceOp::logsumexp, ReduceOp::l2, ReduceOp::var}) {
    const Row got = reduced({.op = op, .axes = {1}}, in.data(), view);
    ASSERT_EQ(got.size(), 3u) << name(op);
    for (std::size_t i = 0; i < 3; ++i) {
      const Real x = elements[i], all = static_cast<Real>(n);
      const Real want = op == ReduceOp::sum             ? x * all
                        : op == ReduceOp::argmax        ? 0
                        : op == ReduceOp::count_nonzero ? all
                        : op == ReduceOp::logsumexp     ? x + std::log(all)
                        : op == ReduceOp::l2            ? std::fabs(x) * std::sqrt(all)
                        : op == ReduceOp::var           ? 0
                                                        : x;
      const bool exact = op == ReduceOp::argmax || op == ReduceOp::count_nonzero || op == ReduceOp::max;
      EXPECT_LE(std::fabs(got[i] - want), exact ? 0 : 4e-6L * std::fabs(want)) << name(op) << " of " << x;
    }
  }
}

// Rows that overlap: 2^33 elements are read, of a megabyte.
TEST_F(big, windows) {
  const Index rows = is_gpu() ? Index{1} << 20 : 64, width = is_gpu() ? 8193 : 33;
  const Memory in(static_cast<std::size_t>(rows + width)), out(static_cast<std::size_t>(8 * rows));
  queue_.fill(in.data(), 1, static_cast<std::size_t>(rows + width));
  const ViewDesc view{.dtype = DType::u8, .sizes = {rows, width}, .strides = {1, 1}};
  EXPECT_EQ(reduced({.op = ReduceOp::sum, .axes = {0, 1}}, in.data(), view), Row{static_cast<Real>(rows * width)});
  for (const int axis : {0, 1}) {
    const Index outputs = axis == 1 ? rows : width, folded = axis == 1 ? width : rows;
    ASSERT_TRUE(run(ReduceSpec{.op = ReduceOp::sum, .axes = {axis}}, in.data(), view, out.data(),
                    dense(DType::u64, {outputs})));
    expect_all_near(out.data(), DType::u64, outputs, static_cast<Real>(folded), 0);
  }
}

TEST_F(big, softmax_of_a_row_beyond_2_31) {
  const Index n = is_gpu() ? (Index{1} << 31) + 8 : 2056;
  need(4 * n);
  if (IsSkipped()) return;
  const Memory memory(static_cast<std::size_t>(4 * n));
  struct Shape {
    Sizes sizes;
    int axis;
  };
  const Shape kShapes[] = {{{n}, 0}, {{n / 8, 8}, 0}, {{n / 8, 8}, 1}, {{2, n / 8, 4}, 1}};
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(::testing::PrintToString(shape.sizes));
    queue_.fill(memory.data(), 0, static_cast<std::size_t>(4 * n));
    const ViewDesc view = dense(DType::f32, shape.sizes);
    ASSERT_TRUE(run(SoftmaxSpec{.axes = {shape.axis}}, memory.data(), view, memory.data(), view));
    const Index length = shape.sizes[static_cast<std::size_t>(shape.axis)];
    const Precision p = precision_of(DType::f32, DType::best, DType::f32);
    expect_all_near(memory.data(), DType::f32, n, 1 / static_cast<Real>(length), exp_sum_error(p, length) + 8 * p.u());
  }
}

TEST_F(big, softmax_of_repeated_elements) {
  const Index n = long_row();
  need(4 * n);
  if (IsSkipped()) return;
  const std::uint16_t kTwo = 0x4000;  // of bf16
  const std::uint16_t elements[] = {kTwo, 0};
  const Memory in(sizeof elements), out(static_cast<std::size_t>(4 * n));
  queue_.upload(in.data(), elements, sizeof elements);
  queue_.wait();
  const ViewDesc view{.dtype = DType::bf16, .sizes = {2, n}, .strides = {1, 0}};
  ASSERT_TRUE(run(SoftmaxSpec{.axes = {1}}, in.data(), view, out.data(), dense(DType::bf16, {2, n})));
  expect_all_near(out.data(), DType::bf16, 2 * n, 1 / static_cast<Real>(n), 0x1p-8L);
}

// More tiles than a grid has blocks in y.
TEST_F(big, many_tiles) {
  const Index outer = is_gpu() ? 300007 : 307;
  need(2 * outer * 120 * 8);
  if (IsSkipped()) return;
  const auto bytes = static_cast<std::size_t>(outer * 120 * 4);
  const Memory in(bytes), out(bytes);
  for (const char* strategy : {"", "columns_in_block", "rows_in_block", "columns_in_cluster", "permute_then_rows"})
    for (const int axis : {1, 2}) {
      SCOPED_TRACE(std::string(strategy) + " axis " + std::to_string(axis));
      queue_.fill(in.data(), 0, bytes);
      queue_.fill(out.data(), 0xff, bytes);
      const ViewDesc view = dense(DType::f32, {outer, 3, 40});
      if (!run(SoftmaxSpec{.axes = {axis}}, in.data(), view, out.data(), view, strategy)) continue;
      expect_all_near(out.data(), DType::f32, outer * 120, axis == 1 ? 1 / 3.0L : 1 / 40.0L, 0x1p-21L);
      queue_.fill(in.data(), 1, bytes);
      const Index outputs = outer * 120 / (axis == 1 ? 3 : 40);
      ASSERT_TRUE(run(ReduceSpec{.op = ReduceOp::sum, .axes = {axis}}, in.data(), dense(DType::u8, {outer, 3, 40}),
                      out.data(), dense(DType::u32, output_sizes({outer, 3, 40}, AxisSet{axis}))));
      expect_all_near(out.data(), DType::u32, outputs, axis == 1 ? 3 : 40, 0);
    }
}

}  // namespace
}  // namespace ndfold::test
