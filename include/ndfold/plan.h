// ReducePlan: decided once, run many times. The free functions plan through the process-wide cache.
#pragma once
#include <ndfold/spec.h>
#include <ndfold/status.h>
#include <ndfold/step.h>
#include <ndfold/view.h>
#include <ndfold/workspace.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ndfold {

struct PlanState;  // lib/api

/// An immutable description of work: problem, schedule, and why each strategy was or was not taken. Cheap to copy, may
/// be shared and run by many threads at once; holds no pointers to data. Nothing here throws: a text or a table for
/// which there is no memory comes back empty. A plan for a GPU of this machine loads its kernels when it is made: plan
/// before a stream is captured. One for a GPU that is not here can do everything but run.
class ReducePlan {
 public:
  /// A reduction of `in` over spec.axes into `out`, whose shape is in's without the reduced axes (or with size 1 there,
  /// when spec.keep_axes).
  /// @return invalid_argument, unsupported, overflow, overlap or empty_reduction, with a sentence that says which.
  static Result<ReducePlan> reduce(const ViewDesc& in, const ViewDesc& out, const ReduceSpec& spec,
                                   const PlanOptions& options = {});
  /// alpha · softmax(scale · in) over spec.axes; `out` has the shape of `in`.
  static Result<ReducePlan> softmax(const ViewDesc& in, const ViewDesc& out, const SoftmaxSpec& spec,
                                    const PlanOptions& options = {});
  /// Axis i of `out` is axis order.axes[i] of `in`; same element type.
  static Result<ReducePlan> permute(const ViewDesc& in, const ViewDesc& out, const Order& order,
                                    const PlanOptions& options = {});

  /// Bytes of scratch that run() needs; often 0.
  std::size_t workspace_bytes() const;
  /// The launches, in order; empty when there is nothing to write.
  std::span<const Step> steps() const;
  /// The name of the chosen strategy.
  std::string_view strategy() const;
  /// For teaching, tests and interchange: element i of the permuted buffer comes from input offset [i] (in elements,
  /// relative to element (0, …, 0)). Outputs in row-major order, and for each its elements in row-major order of the
  /// reduced axes. As long as the input has elements.
  std::vector<Index> gather_index() const;
  /// What will run, why, why not the others, bytes moved, expected time: a text of a few lines.
  std::string explain() const;
  /// The same as one JSON object. The one call that does not survive running out of memory: nlohmann-json ends the
  /// process.
  std::string explain_json() const;

  /// Runs the plan. Allocates nothing. On a CPU it returns when the work is done, and each thread that works takes up
  /// to 1.5 MiB of its stack. On a GPU it queues the plan's launches in the stream and returns: errors of the work
  /// itself appear where the stream is waited for. May be captured into a CUDA graph.
  /// All addresses lie on the plan's device; which device is current does not matter, and stays as it is.
  /// `in` and `out` point to element (0, …, 0); either may be null when it has no elements. They may be equal for a
  /// softmax whose views are equal; any other overlap, the workspace's included, is refused. On an error nothing is
  /// written. Blocking: yes on a CPU, no on a GPU. Reentrant and thread-safe: yes, with distinct workspaces.
  Status run(const void* in, void* out, Workspace workspace = {}, Stream stream = {}) const;

  /// An implementation detail shared with the plan cache.
  explicit ReducePlan(std::shared_ptr<const PlanState> state) : state_(std::move(state)) {}
  const PlanState& state() const { return *state_; }

 private:
  std::shared_ptr<const PlanState> state_;
};

/// The dense row-major output that reduce() writes by default: its shape, and default_output(spec.op, in.dtype).
Result<ViewDesc> output_desc(const ViewDesc& in, const ReduceSpec& spec);

/// Plan through the process-wide cache for the device that both tensors lie on, then run with a workspace that is
/// allocated for this call when one is needed. Blocking: yes on a CPU, no on a GPU. Reentrant and thread-safe: yes.
Status reduce(const ConstTensorView& in, const TensorView& out, const ReduceSpec& spec, Stream stream = {});
Status softmax(const ConstTensorView& in, const TensorView& out, const SoftmaxSpec& spec, Stream stream = {});
Status permute(const ConstTensorView& in, const TensorView& out, const Order& order, Stream stream = {});

}  // namespace ndfold
