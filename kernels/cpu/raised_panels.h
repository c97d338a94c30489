// logsumexp of columns as the sum of raised powers (raised_power.h) down panels: memory is read in the long rows that
// sums have, and each power is added to its column's sum at once. Columns that are not tame are looked at again.
#pragma once
#include "kernels/cpu/runs_as_columns.h"

namespace ndfold::simd {

/// Whether panels raise a block's columns: those that are read where they lie. Short rows from memory are tiles' own:
/// logsumexp f32 on a Zen 5, ms by tiles and by panels, [65536,256] axis 0 1.6 and 1.95, [4096,4096] 2.9 and 1.64.
template <class T>
bool are_raised_by_panels(const Arguments& step, const ColumnBlock& block) {
  constexpr Index kShortRow = 2 << 10;
  const bool are_short = step.past_caches && inner(step.kept).size * Index{sizeof(T)} < kShortRow;
  return ColumnRows<T, Loading::values>::is_direct(step) && block.end - block.begin > 1 && !are_short;
}

/// What some columns' sums of raised powers come to. Whether a column is tame is up to itself, and so is what it comes
/// to: neighbours that are looked at again leave it as it is.
class RaisedColumns {
  using V = Lanes<float>;

 public:
  static constexpr Index kMost = 256;

  RaisedColumns(const float* sums, Index count) : count_(count) {
    const TameSums is_tame(1);
    for (Index c = 0; c < count; c += kLanes<V>) {
      const int some = static_cast<int>(std::min<Index>(kLanes<V>, count - c));
      const V sum = select(first_lanes<float>(some), load_first(sums + c, some), splat<V>(2));
      const Mask<float> tame = is_tame(sum);
      const auto logarithm = TameSums::logarithm(sum);
      all_ = all_ && are_all(tame);
      store(sums_ + c, sum), store(tame_ + c, select(tame, splat<V>(1), splat<V>(0)));
      store(logarithms_ + c, logarithm.shift + logarithm.rest);
    }
  }

  bool are_all_tame() const { return all_; }
  bool is_tame(Index c) const { return tame_[c] != 0; }
  float* logarithms() { return logarithms_; }
  void states(MaxAndSum<float>* to) const {
    for (Index c = 0; c < count_; c += kLanes<V>) spread<float>(TameSums::state(load<V>(sums_ + c)), to + c);
  }

 private:
  static constexpr Index kRoom = kMost + kLanes<V>;
  Index count_;
  bool all_ = true;
  float sums_[kRoom], tame_[kRoom], logarithms_[kRoom];
};

/// Calls take(first, count, sums) for all columns of a block, some at a time.
template <class T, class TakeSums>
void raise_panel(const Arguments& step, const ColumnBlock& block, const TakeSums& take) {
  fold_panel<RaisedSum, float, Loading::values, T>(step, {.scale = step.scale}, block,
                                                   [&](Index first, Index count, const float* sums) {
                                                     constexpr Index kAtOnce = RaisedColumns::kMost;
                                                     for (Index at = 0; at < count; at += kAtOnce)
                                                       take(first + at, std::min(kAtOnce, count - at), sums + at);
                                                   });
}

}  // namespace ndfold::simd
