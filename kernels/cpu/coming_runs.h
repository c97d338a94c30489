// Runs in the order of memory: one of each of some outputs that lie side by side, then the next of each. Outputs that
// are taken one after the other ask for them so, some outputs ahead: what is short to an output is long to memory.
#pragma once
#include "kernels/cpu/arguments.h"
#include "kernels/cpu/odometer.h"

#include <algorithm>

namespace ndfold::simd {

/// The runs of the blocks of a step that follow the first few. On a Zen 4 runs of 128 f32 at a stride of 16 KiB came at
/// 6 GB/s in the order of outputs.
class ComingRuns {
  static constexpr Index kRunBytes = 4 << 10;      // longer ones are streams by themselves
  static constexpr Index kGroupBytes = 256 << 10;  // with as much that is taken meanwhile half of a second cache
  static constexpr Index kEarlier = 2;             // outputs: looks at the next, and the time that memory takes

 public:
  /// For blocks [first, last), one an output. A machine that is asked for elements as they are taken has none here.
  ComingRuns(const Arguments& step, Index first, Index last)
      : outputs_(step.kept, first), runs_(outer(step.reduced)), left_(last - first) {
    const Index width = static_cast<Index>(size_bytes(step.input)), run = inner(step.reduced).size * width;
    const Index output = elements(step.reduced) * width;
    const Axis next_run = inner(outer(step.reduced)), beside = inner(step.kept);
    const bool suits = step.reduced.rank > 1 && run <= kRunBytes && kEarlier * output <= kGroupBytes && beside.in > 0 &&
                       beside.in < next_run.in;
    if (!suits) return;
    most_ = kGroupBytes / output;
    runs_of_output_ = output / run;
    begin_group();
    begin_group();
    for (Index i = 0; i < kEarlier * runs_of_output_ && any(); ++i) next();
  }

  /// Whether there are any: otherwise elements are asked for as they are taken.
  bool any() const { return in_group_ > 0; }

  /// Where the next run begins, in elements.
  Index next() {
    const Index at = group_.in + runs_.in() + output_ * outputs_.run().in;
    if (++output_ == in_group_) {
      output_ = 0, runs_.next();
      if (++run_ == runs_of_output_) begin_group();
    }
    return at;
  }

 private:
  void begin_group() {
    in_group_ = std::min(most_, left_);
    if (in_group_ == 0) return;
    group_ = outputs_.next(in_group_);
    in_group_ = group_.count;
    left_ -= in_group_;
    output_ = run_ = 0;
  }

  Stretches outputs_;
  Odometer runs_;
  Stretches::Stretch group_ = {};
  Index left_, most_ = 0, runs_of_output_ = 0, in_group_ = 0;
  Index output_ = 0, run_ = 0;  ///< of the group
};

}  // namespace ndfold::simd
