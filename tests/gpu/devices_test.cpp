// What a program sees of GPUs: their facts, workspaces that own themselves, functions without a plan, refusals; and
// that the current device stays what it was.
#include "tests/gpu/bench.h"
#include "tests/gpu/trial.h"

namespace ndfold::test {
namespace {

constexpr std::size_t kRoom = std::size_t{1} << 22;  // for any workspace of these calls

class devices : public OnDevice {};

TEST_F(devices, facts_are_asked_once_and_make_sense) {
  if (!is_gpu()) GTEST_SKIP() << "the host has no GPU's facts";
  const auto first = DeviceFacts::cuda(0), again = DeviceFacts::cuda(0);
  ASSERT_TRUE(first && again);
  EXPECT_TRUE(*first == *again);
  EXPECT_EQ(first->kind, DeviceKind::cuda);
  EXPECT_EQ(first->ordinal, 0);
  EXPECT_FALSE(first->name.empty());
  EXPECT_GE(first->architecture, 75);
  EXPECT_GE(first->multiprocessors, 1);
  EXPECT_EQ(first->lanes, 32);
  EXPECT_EQ(first->threads_per_block, 1024);
  EXPECT_GE(first->shared_bytes_per_block, 48 * 1024);
  EXPECT_GE(first->shared_bytes_per_multiprocessor, first->shared_bytes_per_block);
  EXPECT_GT(first->copy_gigabytes_per_second, 1);
  const auto none = DeviceFacts::cuda(device_count());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), Code::unsupported);
  EXPECT_FALSE(DeviceFacts::cuda(-1));
}

TEST_F(devices, a_plan_for_another_architecture_is_refused) {
  if (!is_gpu()) GTEST_SKIP() << "the host has no architecture";
  DeviceFacts other = facts();
  other.architecture = facts().architecture == 80 ? 90 : 80;
  const ViewDesc view = dense(DType::f32, {40, 50});
  const auto plan = plan_for(SoftmaxSpec{.axes = {1}}, view, view, {.device = other, .strategy = {}});
  Status status = plan.error();
  if (plan) {
    const Memory memory(40 * 50 * 4);
    status = plan->run(memory.data(), memory.data());
  }
  ASSERT_FALSE(status.ok());
  for (const int architecture : {80, facts().architecture})
    EXPECT_NE(status.message().find(std::to_string(architecture)), std::string::npos) << status.message();
}

struct Call {
  AnyRequest request;
  ViewDesc in, out;
};

std::vector<Call> all_calls() {
  const ViewDesc row = dense(DType::f32, {3, 50000}), column = dense(DType::f16, {5000, 40});
  const ViewDesc cube = lay_out(DType::f32, {5, 33, 14}, Layout::permuted, 5);
  return {{SoftmaxSpec{.axes = {1}}, row, row},
          {SoftmaxSpec{.axes = {0}, .kind = SoftmaxKind::log_softmax}, column, column},
          {SoftmaxSpec{.axes = {0, 2}}, cube, dense(DType::f32, {5, 33, 14})},
          {ReduceSpec{.op = ReduceOp::sum, .axes = {1}}, row, dense(DType::f32, {3})},
          {ReduceSpec{.op = ReduceOp::argmax, .axes = {0}}, column, dense(DType::i64, {40})},
          {ReduceSpec{.op = ReduceOp::var, .axes = AxisSet::all()}, cube, dense(DType::f32, {})},
          {Order{{2, 0, 1}}, cube, dense(DType::f32, {14, 5, 33})}};
}

std::string judged(const Call& call, const Array& in, const Array& out) {
  Real worst = 0;
  const auto expected = std::visit([&](const auto& spec) { return expected_of(spec, in, call.out); }, call.request);
  return judge(expected, out, false, sign_counts(call.request), worst);
}

TEST_F(devices, functions_without_a_plan) {
  for (const Call& call : all_calls())
    for (int repeat = 0; repeat < 3; ++repeat) {
      Array in(call.in, 1), out(call.out, 1);
      fill(in, Values::mixed, static_cast<std::uint64_t>(repeat) + 1);
      Bench bench;
      bench.lay_out(in, &out, 0);
      bench.put(in, 0);
      const ConstTensorView from(bench.in(), call.in, place());
      const TensorView to{.data = bench.out(), .desc = call.out, .device = place()};
      const Status status = std::visit(
          [&](const auto& spec) {
            using Spec = std::decay_t<decltype(spec)>;
            if constexpr (std::is_same_v<Spec, ReduceSpec>) return ndfold::reduce(from, to, spec, bench.queue().get());
            if constexpr (std::is_same_v<Spec, SoftmaxSpec>)
              return ndfold::softmax(from, to, spec, bench.queue().get());
            if constexpr (std::is_same_v<Spec, Order>) return ndfold::permute(from, to, spec, bench.queue().get());
          },
          call.request);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(bench.take(out), "");
      EXPECT_EQ(judged(call, in, out), "");
      EXPECT_TRUE(out.gaps_untouched());
    }
}

TEST_F(devices, tensors_on_two_devices_are_refused) {
  if (!is_gpu()) GTEST_SKIP() << "the host is one device";
  float number = 0;
  const Memory memory(4);
  const ViewDesc view = dense(DType::f32, {1});
  const Status status = ndfold::softmax({memory.data(), view, place()}, {&number, view, {}}, {.axes = {0}});
  EXPECT_EQ(status.code(), Code::invalid_argument) << status.message();
}

// A workspace may go as soon as the run that uses it is queued; the next one may get its memory.
TEST_F(devices, workspaces_that_own_themselves) {
  int used = 0;
  for (const Call& call : all_calls())
    for (const std::string strategy : {"", "split", "softmax_chain", "permute_then_rows"}) {
      const auto plan = plan_for(call.request, call.in, call.out, {.device = facts(), .strategy = strategy});
      if (!plan) continue;
      Array in(call.in), out(call.out);
      fill(in, Values::mixed);
      Bench bench;
      bench.lay_out(in, &out, 0);
      bench.put(in, 0);
      for (int repeat = 0; repeat < 3; ++repeat) {
        auto own = OwnedWorkspace::allocate(plan->workspace_bytes(), place(), bench.queue().get());
        ASSERT_TRUE(own) << own.error().message();
        const OwnedWorkspace moved = std::move(*own);
        const Workspace workspace = moved;
        EXPECT_GE(workspace.bytes, plan->workspace_bytes());
        EXPECT_EQ(Workspace(*own).data, nullptr);
        used += workspace.data != nullptr;
        const Status status = plan->run(bench.in(), bench.out(), moved, bench.queue().get());
        ASSERT_TRUE(status.ok()) << status.message();
      }
      EXPECT_EQ(bench.take(out), "");
      EXPECT_EQ(judged(call, in, out), "") << strategy;
    }
  EXPECT_GT(used, 0);
  if (is_gpu()) {
    EXPECT_FALSE(OwnedWorkspace::allocate(64, {.kind = DeviceKind::cuda, .ordinal = device_count()}));
  }
}

TEST_F(devices, the_default_stream_will_do) {
  const Call call = all_calls()[2];
  const auto plan = plan_for(call.request, call.in, call.out, {.device = facts(), .strategy = {}});
  ASSERT_TRUE(plan);
  Array in(call.in), out(call.out);
  fill(in, Values::mixed);
  Bench bench;
  bench.lay_out(in, &out, plan->workspace_bytes());
  bench.put(in, 0);
  bench.queue().wait();
  ASSERT_TRUE(plan->run(bench.in(), bench.out(), bench.workspace()).ok());
  wait_for_device();
  EXPECT_EQ(bench.take(out), "");
  EXPECT_EQ(judged(call, in, out), "");
}

// Whether a kernel has to be told that it may have more than usual: CUDA 13.0 forgets the last error then.
bool sets_attributes(const ReducePlan& plan) {
  constexpr Index kUsualSharedBytes = 44 * 1024;  // besides what exchanges take
  for (const Step& step : plan.steps())
    if (step.launch.shared_bytes > kUsualSharedBytes || step.launch.cluster > 8) return true;
  return false;
}

// Ours succeeds, and his next cudaGetLastError() is about his own mistake.
TEST_F(devices, an_error_of_the_caller_stays_his) {
  const Call call = all_calls()[0];
  Array in(call.in), out(call.out);
  fill(in, Values::mixed);
  Bench bench;
  bench.lay_out(in, &out, kRoom);
  bench.put(in, 0);
  bench.queue().wait();
  for (const std::string strategy : {"", "split", "rows_in_grid", "softmax_chain"}) {
    leave_an_error();
    const auto plan = plan_for(call.request, call.in, call.out, {.device = facts(), .strategy = strategy});
    const bool found = finds_the_error();
    if (!plan) continue;
    EXPECT_TRUE(found || sets_attributes(*plan)) << "planning ate it";
    leave_an_error();
    const Status status = plan->run(bench.in(), bench.out(), bench.workspace(), bench.queue().get());
    EXPECT_TRUE(finds_the_error()) << "the run ate it";
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(bench.take(out), "");
    EXPECT_EQ(judged(call, in, out), "") << strategy;
  }
}

// Every pair of current device and plan's device that this machine has.
TEST_F(devices, the_current_one_stays) {
  const int before = current_device();
  const Call call = all_calls()[0];
  for (int current = 0; current < device_count(); ++current)
    for (int ordinal = 0; ordinal < device_count(); ++ordinal) {
      SCOPED_TRACE("device " + std::to_string(ordinal) + " while " + std::to_string(current) + " is current");
      const auto device = is_gpu() ? DeviceFacts::cuda(ordinal) : Result<DeviceFacts>(facts());
      ASSERT_TRUE(device);
      make_current(ordinal);
      Array in(call.in), out(call.out);
      fill(in, Values::mixed);
      Bench bench;
      bench.lay_out(in, &out, kRoom);
      bench.put(in, 0);
      make_current(current);
      for (const std::string strategy : {"", "split", "rows_in_grid", "softmax_chain"}) {
        const auto plan = plan_for(call.request, call.in, call.out, {.device = *device, .strategy = strategy});
        EXPECT_EQ(current_device(), current);
        if (!plan) continue;
        ASSERT_LE(plan->workspace_bytes(), kRoom);
        const Status status = plan->run(bench.in(), bench.out(), bench.workspace(), bench.queue().get());
        EXPECT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(current_device(), current);
        EXPECT_FALSE(plan->run(nullptr, bench.out(), bench.workspace(), bench.queue().get()).ok());
        EXPECT_EQ(current_device(), current);
      }
      const auto own = OwnedWorkspace::allocate(100, {.kind = facts().kind, .ordinal = ordinal}, bench.queue().get());
      EXPECT_TRUE(own);
      EXPECT_EQ(current_device(), current);
      EXPECT_EQ(bench.take(out), "");
      EXPECT_EQ(judged(call, in, out), "");
    }
  make_current(before);
}

}  // namespace
}  // namespace ndfold::test
