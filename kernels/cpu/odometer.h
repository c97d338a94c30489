// Counts through the index tuples of some axes in row-major order, carrying both offsets along.
#pragma once
#include "kernels/cpu/arguments.h"

#include <algorithm>

namespace ndfold::simd {

class Odometer {
 public:
  explicit Odometer(AxisList list, Index linear = 0) : list_(list) {
    for (int i = list.rank; i-- > 0;) {
      const Axis& axis = list.axes[i];
      at_[i] = 0;
      if (linear == 0) continue;  // most begin at the first: no divisions for those
      at_[i] = linear % axis.size;
      linear /= axis.size;
      in_ += at_[i] * axis.in;
      out_ += at_[i] * axis.out;
    }
  }

  Index in() const { return in_; }    ///< input offset, in elements
  Index out() const { return out_; }  ///< output offset, or row-major index weight

  void next() {
    for (int i = list_.rank; i-- > 0;) {
      const Axis& axis = list_.axes[i];
      in_ += axis.in;
      out_ += axis.out;
      if (++at_[i] < axis.size) return;
      in_ -= axis.size * axis.in;
      out_ -= axis.size * axis.out;
      at_[i] = 0;
    }
  }

 private:
  AxisList list_;
  Index in_ = 0, out_ = 0;
  Index at_[kMostAxes];
};

inline Index elements(AxisList list) {
  Index product = 1;
  for (int i = 0; i < list.rank; ++i) product *= list.axes[i].size;
  return product;
}

/// All axes but the innermost.
inline AxisList outer(AxisList list) { return {list.axes, list.rank > 0 ? list.rank - 1 : 0}; }

/// The innermost axis; one element when there is none.
inline Axis inner(AxisList list) {
  return list.rank > 0 ? list.axes[list.rank - 1] : Axis{.size = 1, .in = 1, .out = 1};
}

/// Blocks of rows: one an output, or one for each of its parts. Of columns: a panel of neighbouring outputs.
inline Index row_blocks(const Arguments& step) { return elements(step.kept) * step.parts; }
inline Index column_blocks(const Arguments& step) {
  const Index panels = (inner(step.kept).size + step.panel - 1) / step.panel;
  return elements(outer(step.kept)) * panels * step.parts;
}

/// Counts through the same tuples, as many as asked for at a time while they lie along the innermost axis.
class Stretches {
 public:
  struct Stretch {
    Index in, out;  ///< offsets of its first element
    Index count;
  };

  explicit Stretches(AxisList list, Index linear = 0)
      : run_(inner(list)),
        position_(linear < run_.size ? linear : linear % run_.size),
        lines_(outer(list), linear < run_.size ? 0 : linear / run_.size) {}

  const Axis& run() const { return run_; }  ///< strides from one element of a stretch to the next

  Stretch next(Index most) {
    const Stretch stretch{lines_.in() + position_ * run_.in, lines_.out() + position_ * run_.out,
                          std::min(most, run_.size - position_)};
    if ((position_ += stretch.count) == run_.size) position_ = 0, lines_.next();
    return stretch;
  }

 private:
  Axis run_;
  Index position_;
  Odometer lines_;
};

}  // namespace ndfold::simd
