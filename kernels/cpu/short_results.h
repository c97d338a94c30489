// Where the results of short columns go: into the output at once where they are results as they are, else through the
// sink, many at a time.
#pragma once
#include "kernels/cpu/quick_extremum.h"
#include "kernels/cpu/raised_power.h"
#include "kernels/cpu/sink.h"
#include "kernels/folds/moments.h"
#include "kernels/folds/norms.h"

namespace ndfold::simd {

/// The results of lanes of states, where they are made in lanes.
template <class V>
V in_lanes(const Sum<V>&, V sum, Index) {
  return sum;
}
template <class V>
V in_lanes(const Mean<V>&, V sum, Index n) {
  return sum / splat<V>(static_cast<ScalarOf<V>>(n));
}
template <class V>
V in_lanes(const Variance<V>& fold, const Moments<V>& state, Index n) {
  const auto total = static_cast<ScalarOf<V>>(n), rest = static_cast<ScalarOf<V>>(n > fold.ddof ? n - fold.ddof : 0);
  return rest == total ? state.variance : state.variance * splat<V>(total) / splat<V>(rest);
}
template <class V>
V in_lanes(const LogSumExp<V>&, const MaxAndSum<V>& state, Index) {
  return state.max + log_of(state.sum);
}
template <HasQuick Fold>
typename Fold::Value in_lanes(const Fold&, typename Fold::Value best, Index) {
  return best;
}
template <template <class> class F, class V>
inline constexpr bool kEndsInLanes =
    HasQuick<F<V>> || std::is_same_v<F<V>, Sum<V>> || std::is_same_v<F<V>, SumOfSquares<V>> ||
    std::is_same_v<F<V>, L1<V>> || std::is_same_v<F<V>, LogSumExp<V>> || std::is_same_v<F<V>, Mean<V>> ||
    std::is_same_v<F<V>, Variance<V>>;

/// Takes the states of columns that lie side by side in the output. What is a result as it is goes there at once:
/// later, many at a time, it would be in memory's way ([N,2,4096] f32: 12 GB/s, 35 so). The rest is sunk many at a
/// time, across lines.
template <class Fold>
class ShortResults {
 public:
  using State = typename Fold::State;

  ShortResults(const Arguments& step, const Fold& fold)
      : step_(step),
        fold_(fold),
        stream_(streams_results(step)),
        direct_(step.sink == SinkKind::store && step.repeat == 1 && inner(step.kept).out == 1) {}
  ShortResults(const ShortResults&) = delete;
  ShortResults& operator=(const ShortResults&) = delete;
  ~ShortResults() {
    sink(held_);
    if (stream_) finish_streams();
  }

  /// What is added next is the output at `out`, the step's output number `number`.
  void move_to(Index out, Index number) {
    if (held_ > 0 && out != out_ + held_ * stride_) sink(held_);
    if (held_ > 0) return;
    out_ = out, number_ = number;
    at_ = place_of(step_, out);
  }

  /// Whether results are made in lanes, and stored as T.
  template <class T>
  bool takes() const {
    return direct_ && step_.output == kTypeOf<T>;
  }
  /// Where the next results go, for a caller that puts `count` of them there and says so.
  template <class T>
  T* place() const {
    return reinterpret_cast<T*>(at_);
  }
  template <class T>
  void advance_by(Index count) {
    at_ += count * static_cast<Index>(sizeof(T)), out_ += count, number_ += count;
  }
  /// Whether results from `to` on had better go past the caches; they fill lines then.
  bool streams(const void* to) const { return stream_ && begins_line(to); }

  void put(const State* states, Index count) {
    using Result = decltype(fold_.finalize(*states, step_.count));
    if constexpr (std::is_arithmetic_v<Result>)
      if (direct_ && are_output<Result>(step_.output)) {
        Result* const to = reinterpret_cast<Result*>(at_);
        for (Index i = 0; i < count; ++i) to[i] = fold_.finalize(states[i], step_.count);
        if constexpr (requires { states->index; })
          for (Index i = 0; i < count; ++i) to[i] += step_.index_offset;
        return advance_by<Result>(count);
      }
    std::copy(states, states + count, states_ + held_);
    if ((held_ += count) >= kAtOnce) sink(held_);
  }

 private:
  static constexpr Index kAtOnce = 512, kMostAdded = 64;

  void sink(Index count) {
    if (count == 0) return;
    const Places to{.out = place_of(step_, out_), .out_stride = stride_, .block = number_, .block_stride = 1};
    sink_states(step_, fold_, states_, count, to);
    held_ = 0, out_ += count * stride_, number_ += count;
  }

  const Arguments& step_;
  const Fold& fold_;
  const bool stream_, direct_;
  const Index stride_ = inner(step_.kept).out;
  Index held_ = 0, out_ = 0, number_ = 0;
  std::byte* at_ = nullptr;  // of what is put at once
  State states_[kAtOnce + kMostAdded];
};

}  // namespace ndfold::simd
