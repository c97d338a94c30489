// Requests that need every kind of launch, and runs of them on addresses where nothing lies.
#pragma once
#include "tests/fake_gpu/fake_gpu.h"
#include "tests/support/compare.h"
#include "tests/support/strategies.h"

namespace ndfold::test {

struct GpuRequest {
  std::string name;
  AnyRequest request;
  ViewDesc in, out;
  std::string strategy = {};
};

inline GpuRequest softmax_over(const ViewDesc& in, const AxisSet& axes, const std::string& strategy = "") {
  return {strategy + " softmax " + ::testing::PrintToString(in.sizes), SoftmaxSpec{.axes = axes}, in,
          dense(in.dtype, in.sizes), strategy};
}

inline GpuRequest reduce_over(ReduceOp op, const ViewDesc& in, const AxisSet& axes, const std::string& strategy = "") {
  return {strategy + ' ' + std::string(name(op)) + ' ' + ::testing::PrintToString(in.sizes),
          ReduceSpec{.op = op, .axes = axes}, in, dense(default_output(op, in.dtype), output_sizes(in.sizes, axes)),
          strategy};
}

inline Result<ReducePlan> plan_of(const GpuRequest& item, const DeviceFacts& device) {
  return plan_for(item.request, item.in, item.out, {.device = device, .strategy = item.strategy});
}

/// Far from each other and from everything that is; never read.
inline void* fake_address(int number, Index offset = 0) {
  return reinterpret_cast<void*>((std::uintptr_t{1} << 60) * static_cast<std::uintptr_t>(number) +
                                 static_cast<std::uintptr_t>(offset));
}

/// A run that may do nothing but launch.
inline Status run_on_fake(const ReducePlan& plan, Index in_offset = 0, Index out_offset = 0, void* stream = nullptr) {
  const Workspace workspace{.data = fake_address(4), .bytes = plan.workspace_bytes()};
  const Running scope;
  return plan.run(fake_address(1, in_offset), fake_address(2, out_offset), workspace, {.handle = stream});
}

/// One of each strategy, in schedules of one step and of many.
inline std::vector<GpuRequest> one_of_each() {
  const ViewDesc row = dense(DType::f32, {3, 200000}), column = dense(DType::f32, {200000, 40}),
                 rows = dense(DType::f16, {70000, 300});
  return {softmax_over(rows, {1}),
          softmax_over(row, {1}, "rows_in_cluster"),
          softmax_over(row, {1}, "rows_in_grid"),
          softmax_over(column, {0}, "columns_in_block"),
          softmax_over(column, {0}, "columns_in_grid"),
          softmax_over(column, {0}, "softmax_chain"),
          softmax_over(row, {1}, "split"),
          reduce_over(ReduceOp::sum, row, {1}, "split"),
          reduce_over(ReduceOp::argmax, column, {0}, "columns_in_cluster"),
          reduce_over(ReduceOp::var, column, {0}, "permute_then_rows"),
          {"permute", Order{{1, 0}}, column, dense(DType::f32, {40, 200000})}};
}

}  // namespace ndfold::test
