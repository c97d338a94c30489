// Softmax of dense rows whose powers have no room next to the core, but which themselves stay in the last cache: powers
// are made twice. While one row is folded, the results of the row before are made, so that memory is read and written
// at the same time.
#pragma once
#include "kernels/cpu/odometer.h"
#include "kernels/cpu/softmax_fold.h"

namespace ndfold::simd {

/// Powers of one row wait on the stack. Up to a quarter of it they, the row itself and the next stay in an L2 of 1 MiB;
/// longer ones come from the last cache, which a step may say costs more than powers made twice ([64,262144] f32 on a
/// Zen 4: 6.5 ms in two reads, 5.1 so; elements/ns of [16,262144] on a Xeon: 2.9 in two reads, 1.9 so).
inline constexpr Index kWaitingBytes = 1 << 20, kWaitingInCache = 256 << 10;

/// Results of the dense run of n elements at x. What was read last is read first: some of it is still in a cache.
template <bool kStreams, class T, class R>
void map_run_again(const T* x, T* to, Index n, const R& result) {
  constexpr Index kBlock = (16 << 10) / sizeof(T), kPiece = 4 * kTurn<NumberOf<T>>;
  const Index head = kStreams ? std::min(unaligned_elements(to), n) : 0;
  for (Index i = head + (n - head) / kBlock * kBlock; i >= head; i -= kBlock) {
    const Index count = std::min(kBlock, n - i);
    for (Index piece = 0; piece < count; piece += kPiece) {
      for (Index line = 0; line < kPiece * static_cast<Index>(sizeof(T)); line += 64)
        ask_early(reinterpret_cast<const char*>(x + i + piece - kBlock) + line);
      write_results<kStreams>(x + i + piece, to + i + piece, std::min(kPiece, count - piece), result);
    }
  }
  write_results<false>(x, to, head, result);
  if constexpr (kStreams) finish_streaming();
}

template <class T, class R>
void map_runs_again(const Arguments& step, const T* in, T* out, Index begin, Index end, const R& result) {
  const Axis run = inner(step.reduced);
  const auto map = step.past_caches ? map_run_again<true, T, R> : map_run_again<false, T, R>;
  Odometer lines(outer(step.reduced), begin / run.size);
  for (Index position = begin % run.size, left = end - begin; left > 0; position = 0, lines.next()) {
    const Index n = std::min(run.size - position, left);
    map(in + lines.in() + position, out + lines.out() + position, n, result);
    left -= n;
  }
}

/// Elements [begin, end) of a dense row, made from its state.
template <MapKind kMap, class T, class A = NumberOf<T>>
void map_again(const Arguments& step, const T* in, T* out, Index begin, Index end, const MaxAndSum<A>& state) {
  const A scale = static_cast<A>(step.scale);
  const auto by = normalizer<A>(kMap, state, step.alpha);
  if constexpr (kMap == MapKind::softmax && kRaisesPowers<A>) {
    using V = LanesOf<A>;
    const double sum = std::exp(static_cast<double>(state.max)) * static_cast<double>(state.sum) * 0x1p32;
    if (are_all(TameSums(step.alpha)(splat<V>(static_cast<float>(sum)))))
      return with_raised_power(scale, [&](const auto& power) {
        map_runs_again(step, in, out, begin, end, RaisedResultAgain(power, step.alpha, step.alpha / sum));
      });
  }
  using Again = std::conditional_t<kMap == MapKind::softmax, ResultAgain<A>, Result<kMap, A>>;
  map_runs_again(step, in, out, begin, end, Again(scale, by));
}

/// Rows of one run of which two, of two cores each, stay in the last cache. Where that is far, who folds a row had
/// better not write meanwhile.
template <class T>
bool are_long_rows(const Arguments& step) {
  constexpr Index kMostBytes = 8 << 20;
  return step.reduced.rank <= 1 && elements(step.reduced) * static_cast<Index>(sizeof(T)) <= kMostBytes &&
         step.waiting_bytes >= kWaitingBytes;
}

template <class T, MapKind kMap, bool kStreams>
requires kRaisesPowers<NumberOf<T>>
class LongSoftmax {
  using A = NumberOf<T>;
  using V = LanesOf<A>;

 public:
  explicit LongSoftmax(const Arguments& step)
      : step_(step),
        n_(elements(step.reduced)),
        scale_(static_cast<A>(step.scale)),
        tame_(step.alpha),
        fold_(step.scale) {}

  void row(const T* x, T* y) {
    if (is_far_ && around_maximum(x, y, true)) return;
    const A sum = with_raised_power(scale_, [&](const auto& power) { return sum_beside_results(x, power); });
    is_far_ = !are_all(tame_(splat<V>(sum)));
    if (is_far_) {
      around_maximum(x, y, false);
    } else {
      x_ = x, y_ = y, sum_ = sum;
    }
  }

  void last() {
    if (y_ == nullptr) return;
    with_raised_power(scale_, [&](const auto& power) { map_runs_again(step_, x_, y_, 0, n_, result_before(power)); });
    y_ = nullptr;
  }

 private:
  template <class Power>
  auto result_before(const Power& power) const {
    if constexpr (kMap == MapKind::softmax) {
      return RaisedResultAgain(power, step_.alpha, static_cast<A>(step_.alpha) / sum_);
    } else {
      const auto logarithm = TameSums::logarithm(splat<V>(sum_));
      return Result<kMap, A>(scale_, {lane(logarithm.shift, 0), lane(logarithm.rest, 0), static_cast<A>(step_.alpha)});
    }
  }

  // False where raised powers were not tried and may do as well: then they have to.
  bool around_maximum(const T* x, T* y, bool is_guess) {
    const auto state = with_one_nan(fold_.fold(x, n_, nullptr, 0));
    if (is_guess && any(tame_.may_hold(splat<V>(state.max), splat<V>(state.sum)))) return false;
    map_again<kMap>(step_, x, y, 0, n_, state);
    return true;
  }

  template <class Power>
  A sum_beside_results(const T* x, const Power& power) {
    constexpr Index kLeaf = kPowerLeaf<A>;
    const Index head = kStreams && y_ != nullptr ? std::min(unaligned_elements(y_), n_) : 0;
    const Index ahead = y_ != nullptr ? ahead_of_writes(x, y_) : ahead_elements<T>();
    const auto result = result_before(power);
    if (head > 0) write_results<false>(x_, y_, head, result);
    tree_.start();
    for (Index i = 0; i < n_; i += kLeaf) {
      const Index count = std::min(kLeaf, n_ - i);
      PowerSums<V> sum;
      Index done = 0;
      if (y_ != nullptr) {
        const Index left = std::max<Index>(0, std::min(count, n_ - head - i)), at = head + i;
        done = left / kTurn<A> * kTurn<A>;
        constexpr Index kPiece = 4 * kTurn<A>;
        for (Index k = 0; k < done; k += kPiece) {
          const Index some = std::min(kPiece, done - k);
          ask_for_rest(x_ + at + k + 2 * kLeaf, some);
          three_looks<Kept::nothing, kStreams>(some / kTurn<A>, x, x + i + k + ahead, splat<V>(0), x + i + k,
                                               static_cast<A*>(nullptr), power, sum, x_ + at + k, y_ + at + k, result);
        }
        if (done < left) write_results<false>(x_ + at + done, y_ + at + done, left - done, result);
      } else {
        done = count / kTurn<A> * kTurn<A>;
        three_looks<Kept::nothing, false, T, T>(done / kTurn<A>, x, x + i + ahead, splat<V>(0), x + i,
                                                static_cast<A*>(nullptr), power, sum, static_cast<const T*>(nullptr),
                                                static_cast<T*>(nullptr), NoResult());
      }
      if (done < count) add_powers<Kept::nothing>(x + i + done, static_cast<A*>(nullptr), count - done, power, sum);
      tree_.push(sum.total(), count);
    }
    y_ = nullptr;
    return tree_.result();
  }

  const Arguments& step_;
  const Index n_;
  const A scale_;
  const TameSums tame_;
  bool is_far_ = false;  ///< rows are expected to need their maxima
  SoftmaxFold<T> fold_;
  PowerTree<V> tree_;
  const T* x_ = nullptr;  ///< the row before, whose results wait; y_ is nothing when none do
  T* y_ = nullptr;
  A sum_ = 0;
};

}  // namespace ndfold::simd
