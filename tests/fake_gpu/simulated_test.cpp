// From the API to the kernel without a GPU: what a run launches is run by the simulator, and its result judged.
#include <ndfold/plan_cache.h>

#include "plans/tuning/override.h"
#include "tests/fake_gpu/requests.h"
#include "tests/simt/memory.h"
#include "tests/simt/simulate.h"

namespace ndfold::test {
namespace {

using namespace cuda;

std::string failure;  // of the last launch that failed
int launches = 0;

/// A small GPU that runs the kernel text of the tests' tables.
struct Simulated {
  static FakeDevice device() {
    FakeDevice small = fake_slice(3);
    small.numbers.shared_bytes_per_multiprocessor = 32 * 1024;
    small.numbers.shared_bytes_per_block = 31 * 1024;
    return small;
  }
  static ErrorCode device_count(int* count) { return *count = 1, 0; }
  static ErrorCode describe(GpuNumbers* numbers, int) { return *numbers = device().numbers, 0; }
  static ErrorCode current_device(int* ordinal) { return *ordinal = 0, 0; }
  static ErrorCode make_current(int) { return 0; }
  static ErrorCode prepare(Kernel, int, bool, bool* awaits) { return *awaits = true, 0; }
  static ErrorCode resident(int* count, Kernel, const LaunchShape&) { return *count = 8, 0; }
  static ErrorCode launch(Kernel kernel, const Arguments& arguments, const LaunchShape& shape, void*) {
    ++launches;
    const simt::Report report = simt::launch({.x = static_cast<unsigned>(shape.grid_x),
                                              .y = static_cast<unsigned>(shape.grid_y),
                                              .threads = shape.threads,
                                              .cluster = static_cast<unsigned>(shape.cluster),
                                              .shared_bytes = static_cast<std::size_t>(shape.shared_bytes),
                                              .cooperative = shape.cooperative},
                                             [&] { kernel(arguments); });
    failure = report.failure;
    return failure.empty() ? 0 : kAsked;
  }
  static ErrorCode allocate(void** memory, std::size_t bytes, void*) {
    *memory = simt::allocate(bytes, 0, simt::Access::read_write, false, "the workspace of a call");
    return 0;
  }
  static ErrorCode free(void*, void*) { return 0; }
  static const char* words(ErrorCode) { return failure.c_str(); }

  static constexpr GpuApi kApi = {.device_count = device_count,
                                  .describe = describe,
                                  .current_device = current_device,
                                  .make_current = make_current,
                                  .prepare = prepare,
                                  .resident_blocks = resident,
                                  .resident_clusters = resident,
                                  .launch = launch,
                                  .allocate = allocate,
                                  .free = free,
                                  .words = words};

  Simulated() : before_(simt::mark()) {
    launches = 0;
    use_backend({.api = &kApi, .find_kernel = simt::find_kernel});
  }
  ~Simulated() {
    use_backend(built_backend());
    simt::release(before_);
  }

 private:
  std::size_t before_;
};

/// An array's elements in the simulated memory.
class OnGpu {
 public:
  OnGpu(Array& array, bool is_input) {
    const Span span = span_of(array.desc());
    const auto width = static_cast<Index>(size_bytes(array.desc().dtype));
    bytes_ = static_cast<std::size_t>((span.high - span.low + 1) * width);
    host_ = static_cast<std::byte*>(array.data()) + span.low * width;
    first_ = simt::allocate(bytes_, reinterpret_cast<std::uintptr_t>(host_),
                            is_input ? simt::Access::read_only : simt::Access::read_write, is_input,
                            is_input ? "the input" : "the output");
    data_ = first_ - span.low * width;
    std::memcpy(first_, host_, bytes_);
  }
  std::byte* data() const { return data_; }
  void copy_back() const { std::memcpy(host_, first_, bytes_); }

 private:
  std::size_t bytes_;
  std::byte *host_, *first_, *data_;
};

void expect_judged(const AnyRequest& request, const Array& in, const Array& out) {
  Real worst = 0;
  const auto expected = std::visit([&](const auto& spec) { return expected_of(spec, in, out.desc()); }, request);
  EXPECT_EQ(judge(expected, out, false, sign_counts(request), worst), "");
  EXPECT_TRUE(out.gaps_untouched());
}

// False when the strategy cannot do it.
bool run_simulated(const GpuRequest& item, Index shift) {
  const Simulated gpu;
  const auto plan = plan_of(item, *DeviceFacts::cuda(0));
  if (!plan) return false;
  Array in(item.in, shift), out(item.out, shift);
  fill(in, Values::mixed);
  const OnGpu from(in, true), to(out, false);
  std::byte* const scratch =
      simt::allocate(plan->workspace_bytes(), 0, simt::Access::read_write, false, "the workspace");
  const Status status = plan->run(from.data(), to.data(), {.data = scratch, .bytes = plan->workspace_bytes()});
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(launches, static_cast<int>(plan->steps().size()));
  to.copy_back();
  expect_judged(item.request, in, out);
  return true;
}

TEST(fake_gpu_simulated, plans_by_each_strategy) {
  const ViewDesc row = dense(DType::f32, {2, 4500}), column = dense(DType::f32, {300, 19}),
                 middle = lay_out(DType::f32, {3, 40, 5}, Layout::permuted, 3);
  int runs = 0;
  for (const std::string strategy : kReadingStrategies)
    for (const GpuRequest& item :
         {softmax_over(row, {1}, strategy), softmax_over(column, {0}, strategy), softmax_over(middle, {1}, strategy),
          reduce_over(ReduceOp::sum, row, {1}, strategy), reduce_over(ReduceOp::var, column, {0}, strategy),
          reduce_over(ReduceOp::argmax, middle, {0, 2}, strategy)})
      for (const Index shift : {0, 3}) {
        SCOPED_TRACE(::testing::Message() << item.name << " shift " << shift);
        runs += run_simulated(item, shift);
      }
  EXPECT_GT(runs, 80);
}

TEST(fake_gpu_simulated, functions_without_a_plan) {
  const Device device{.kind = DeviceKind::cuda, .ordinal = 0};
  const ViewDesc view = dense(DType::f32, {2, 4500}), turned = dense(DType::f32, {4500, 2});
  process_plan_cache().clear();
  for (int repeat = 0; repeat < 2; ++repeat) {
    const Simulated gpu;
    Array in(view, 1), soft(view, 1), sums(dense(DType::f32, {2})), moved(turned);
    fill(in, Values::mixed, static_cast<std::uint64_t>(repeat) + 1);
    const OnGpu from(in, true), to_soft(soft, false), to_sums(sums, false), to_moved(moved, false);
    const ConstTensorView source(from.data(), view, device);
    const Status statuses[] = {softmax(source, {to_soft.data(), view, device}, {.axes = {1}}),
                               reduce(source, {to_sums.data(), sums.desc(), device}, {.axes = {1}}),
                               permute(source, {to_moved.data(), turned, device}, {{1, 0}})};
    for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status.message();
    for (const OnGpu* result : {&to_soft, &to_sums, &to_moved}) result->copy_back();
    expect_judged(SoftmaxSpec{.axes = {1}}, in, soft);
    expect_judged(ReduceSpec{.axes = {1}}, in, sums);
    expect_judged(Order{{1, 0}}, in, moved);
  }
  process_plan_cache().clear();
}

// The numbers in every row of a strategy; those that rows may not have are left out.
std::vector<TuningOverride> rows_with(const std::string& strategy, const Tuning& use) {
  std::vector<TuningOverride> rows;
  for (const TuningRow& row : built_in_rows(DeviceFacts::h200())) {
    if (row.when.strategy != strategy) continue;
    TuningOverride item{.architecture = DeviceFacts::h200().architecture, .row = row};
    const Tuning table = item.row.use;
    item.row.use = use;
    if (table.panel_bytes == 0) item.row.use.panel_bytes = 0;
    if (table.cluster_blocks == 1) item.row.use.cluster_blocks = 1;
    if (const auto taken = parse_overrides(override_columns() + "\n" + text_of(item))) rows.push_back(taken->front());
  }
  return rows;
}

// An override may slow a plan down, never make it wrong: the ends of what a file may say.
TEST(fake_gpu_simulated, whatever_an_override_says) {
  const ViewDesc row = dense(DType::f32, {2, 4500}), column = dense(DType::f32, {300, 150}),
                 every_other = {.dtype = DType::f32, .sizes = {20, 600}, .strides = {1200, 2}};
  constexpr Tuning kEnds[] = {
      {.threads = 32, .lanes_per_row = 1, .unroll = 1, .panel_bytes = 16, .cluster_blocks = 2},
      {.threads = 32, .lanes_per_row = 32, .unroll = 8, .panel_bytes = 32, .cluster_blocks = 8},
      {.threads = 256, .lanes_per_row = 2, .unroll = 1, .panel_bytes = 256, .cluster_blocks = 2},
      {.threads = 512, .lanes_per_row = 32, .unroll = 8, .panel_bytes = 512, .cluster_blocks = 4}};
  int runs = 0;
  for (const std::string strategy : kReadingStrategies)
    for (const Tuning& use : kEnds) {
      const auto rows = rows_with(strategy, use);
      if (rows.empty()) continue;
      use_overrides(rows);
      for (const GpuRequest& item :
           {softmax_over(row, {1}, strategy), softmax_over(column, {0}, strategy),
            reduce_over(ReduceOp::sum, row, {1}, strategy), reduce_over(ReduceOp::var, column, {0}, strategy),
            reduce_over(ReduceOp::sum, every_other, {0}, strategy)}) {
        SCOPED_TRACE(::testing::Message() << item.name << ", " << text_of(rows.front()));
        runs += run_simulated(item, 1);
      }
    }
  use_overrides({});
  EXPECT_GT(runs, 100);
}

}  // namespace
}  // namespace ndfold::test
