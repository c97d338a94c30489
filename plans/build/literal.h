// The permuted buffer: outputs in row-major order, each with its elements in row-major order of the reduced axes.
#pragma once
#include "plans/build/steps.h"

namespace ndfold {

struct Literal {
  Index outputs = 1, length = 1;
  Tuning moves;                     ///< of its permutes
  std::vector<Axis> kept, reduced;  ///< `in` is the caller's stride, `out` the place in the permuted buffer

  /// Caller's input → permuted buffer; permuted buffer → caller's output.
  Step gather(const Problem& problem, Buffer permuted) const;
  Step scatter(const Problem& problem, Buffer permuted) const;
  /// A fold of the buffer's dense rows, one output each.
  Step rows(const Problem& problem, const TuningRow& tuned) const;
};

Literal literal_of(const Problem& problem, const DeviceFacts& device);

/// Elements that one block of a multi-step schedule folds.
Index multi_step_limit(const Problem& problem, const DeviceFacts& device);

}  // namespace ndfold
