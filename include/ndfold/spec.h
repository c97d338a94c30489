// What a caller asks for: the operation and the options of its plan.
#pragma once
#include <ndfold/device.h>
#include <ndfold/op.h>
#include <ndfold/view.h>

#include <string>

namespace ndfold {

struct ReduceSpec {
  ReduceOp op = ReduceOp::sum;
  AxisSet axes = {};               ///< {} reduces nothing; AxisSet::all() everything
  DType accumulate = DType::best;  ///< best: 16-bit floats and f32 in f32, f64 in f64, integers in 64 bits
  bool keep_axes = false;          ///< reduced axes stay in the output with size 1
  Index ddof = 0;                  ///< var and std divide by max(n - ddof, 0)
  bool compensated = false;        ///< sum and mean only: carry the rounding errors along (Neumaier 1974)
  friend bool operator==(const ReduceSpec&, const ReduceSpec&) = default;
};

/// out = alpha · softmax(scale · in), or alpha · log_softmax(scale · in), over `axes`.
struct SoftmaxSpec {
  AxisSet axes = {};
  SoftmaxKind kind = SoftmaxKind::softmax;
  double scale = 1;  ///< on the input: 1/temperature
  double alpha = 1;  ///< on the output
  friend bool operator==(const SoftmaxSpec&, const SoftmaxSpec&) = default;
};

struct PlanOptions {
  DeviceFacts device = DeviceFacts::host();  ///< what to plan for; DeviceFacts::cuda() for a GPU that is here
  std::string strategy = {};                 ///< force this row of the strategy table; empty lets the cost decide
  Index block_limit = 0;  ///< at most this many elements a block folds in a multi-step schedule; 0 = the device's
  friend bool operator==(const PlanOptions&, const PlanOptions&) = default;
};

}  // namespace ndfold
