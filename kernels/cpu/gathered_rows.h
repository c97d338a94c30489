// Softmax of rows that lie side by side in the output alone: some of them at a time are brought together next to the
// core, and are dense rows from there on.
#pragma once
#include "kernels/cpu/dense_softmax.h"
#include "kernels/cpu/gather.h"

namespace ndfold::simd {

/// What a batch of rows takes; a longer row is not brought together. Reversed rows of 16 KiB: 3.4 elements/ns with 32
/// KiB, 3.8 with 64, 4.1 from 128 on.
inline constexpr Index kGatheredBytes = 256 << 10;

inline bool can_gather_rows(const Arguments& step) {
  const Axis run = inner(step.reduced);
  const bool dense = run.out == 1 || run.out == -1;
  return dense && (step.reduced.rank <= 1 || run.size >= kShortestDenseRun) && step.output == step.input &&
         step.scale >= 0 && elements(step.reduced) * static_cast<Index>(size_bytes(step.input)) <= kGatheredBytes;
}

/// A step whose rows are read from a batch.
template <class T>
class GatheredRows {
 public:
  explicit GatheredRows(const Arguments& step) : given_(step), step_(step), n_(elements(step.reduced)) {
    const Axis run = inner(step.reduced);
    const bool falls = run.out < 0;
    first_in_ = falls ? (run.size - 1) * run.in : 0;
    first_out_ = falls ? (run.size - 1) * run.out : 0;
    stride_ = falls ? -run.in : run.in;
    Index unit = 1;
    for (int i = step.reduced.rank; i-- > 0;) {
      axes_[i] = step.reduced.axes[i];
      axes_[i].in = unit;
      unit *= axes_[i].size;
    }
    if (step.reduced.rank > 0) axes_[step.reduced.rank - 1].out = 1;
    step_.reduced.axes = axes_;
    step_.kept = {&row_, 1};
  }
  GatheredRows(const GatheredRows&) = delete;
  GatheredRows& operator=(const GatheredRows&) = delete;

  template <MapKind kMap>
  [[gnu::noinline]] void map(Index first, Index last) {
    alignas(64) T batch[kGatheredBytes / sizeof(T)];
    const Axis row = inner(given_.kept);
    const Index most = std::max<Index>(1, kGatheredBytes / static_cast<Index>(sizeof(T)) / n_);
    each_row_group(given_.kept, first, last, [&](Index from, Index to, Index rows) {
      for (Index r = 0; r < rows; r += most) {
        const Index count = std::min(most, rows - r);
        for (Index i = 0; i < count; ++i)
          take(elements_at<T>(given_.in, from + (r + i) * row.in + first_in_), batch + i * n_);
        row_ = {.size = count, .in = n_, .out = row.out};
        step_.in = reinterpret_cast<const std::byte*>(batch);
        step_.out = advance(given_.out, given_.output, to + r * row.out + first_out_);
        dense_softmax<T, kMap>(step_, 0, count);
      }
    });
  }

 private:
  void take(const T* x, T* to) const {
    const Index run = inner(given_.reduced).size;
    Odometer lines(outer(given_.reduced));
    for (Index done = 0; done < n_; done += run, lines.next()) gather(x + lines.in(), stride_, run, to + done);
  }

  const Arguments& given_;
  Arguments step_;
  Index n_, stride_, first_in_, first_out_;
  Axis row_;
  Axis axes_[kMostAxes];
};

}  // namespace ndfold::simd
