// Softmax of dense rows that fit the core's cache, one exponential an element: while one row's powers are made, what
// follows is fetched and the results of the row before are written. Powers are raised; once a row's sum tells that it
// needs its maximum, that of the next is found meanwhile, too.
#pragma once
#include "kernels/cpu/coming_runs.h"
#include "kernels/cpu/odometer.h"
#include "kernels/cpu/power_tree.h"
#include "kernels/cpu/raised_power.h"
#include "kernels/cpu/streamed_line.h"

namespace ndfold::simd {

/// Part of a run of a row: offsets of its first element in the input, the output and the row.
struct Piece {
  Index from, to, at;
  Index n, left;  ///< elements of it, and from it to the end of the run
  bool starts_run;
};

/// Visits a row in pieces of kPowerLeaf elements; the last has up to half as many more, for a short one costs most.
template <class A, class Work>
[[gnu::always_inline]] inline void each_piece(AxisList reduced, Index row_elements, Work&& work) {
  const Axis run = inner(reduced);
  Odometer lines(outer(reduced));
  constexpr Index kMost = kPowerLeaf<A> + kPowerLeaf<A> / 2;
  for (Index line = 0; line < row_elements; line += run.size, lines.next())
    for (Index i = 0, n = 0; i < run.size; i += n) {
      n = run.size - i <= kMost ? run.size - i : kPowerLeaf<A>;
      work(Piece{.from = lines.in() + i,
                 .to = lines.out() + i,
                 .at = line + i,
                 .n = n,
                 .left = run.size - i,
                 .starts_run = i == 0});
    }
}

/// Rows of type T; `kStreams` when what is written is too much for the caches.
template <class T, MapKind kMap, bool kStreams>
class SoftmaxPipeline {
  using A = NumberOf<T>;
  using V = LanesOf<A>;
  static constexpr bool kKeeps = kMap == MapKind::softmax;
  // Vectors of 16 bytes find a maximum with fewer instructions than they keep a power within its limits (0.9 of the
  // speed of rows of 4096).
  static constexpr bool kRaises = kRaisesPowers<A> && sizeof(V) > 16;
  static constexpr Kept kKept = kKeeps ? Kept::powers : kCostsToLoad<T> ? Kept::elements : Kept::nothing;
  using Around = PowerAroundMaximum<A>;

 public:
  /// For rows [first, last), one after the other.
  SoftmaxPipeline(const Arguments& step, Index first, Index last, A* powers)
      : in_(reinterpret_cast<const T*>(step.in)),
        reduced_(step.reduced),
        elements_(elements(step.reduced)),
        row_stride_(step.kept.rank > 0 ? inner(step.kept).in : elements_),
        run_stride_(inner(outer(step.reduced)).in),
        scale_(static_cast<A>(step.scale)),
        alpha_(step.alpha),
        tame_(step.alpha, elements_),
        powers_(powers),
        coming_(step, first, kAsksAhead ? first : last) {}

  struct Row {
    const T* in;
    T* out;
  };

  void first(Row row) {
    if constexpr (!kRaises) find_maximum(row);
    enter(row);
  }

  /// Makes the current row's powers and writes what the row before it became; `next` becomes current. The last row is
  /// its own next.
  void turn(Row next) {
    if constexpr (kRaises) {
      if (is_far_)
        turn_around_maximum(next);
      else
        raised_turn(next);
    } else {
      by_ = normalizer<A>(kMap, {shift_, powers_beside_results(Around(scale_, shift_), next)}, alpha_);
    }
    enter(next);
  }

  void last() {
    const Result<kMap, A> result(scale_, by_);
    each_piece<A>(reduced_, elements_, [&](const Piece& piece) {
      const Index begin = align(piece, result);
      write(piece, begin, std::min(piece.n + ahead_, piece.left), result);
    });
    if constexpr (kStreams) line_.flush(), finish_streaming();
  }

 private:
  void enter(Row row) {
    current_ = row;
    shift_ = packet::predux_max(most_.value) * scale_;
  }

  [[gnu::noinline]] void find_maximum(Row row) {
    most_ = splat<V>(-kInfinity<V>);
    each_piece<A>(reduced_, elements_,
                  [&](const Piece& piece) { most_ = largest(row.in + piece.from, piece.n, most_); });
  }

  void raised_turn(Row next) {
    if (take_raised(with_raised_power(scale_, [&](const auto& power) { return powers_beside_results(power, next); })))
      return;
    is_far_ = true;
    find_maximum(current_);
    enter(current_);
    by_ = normalizer<A>(kMap, {shift_, powers_alone(Around(scale_, shift_))}, alpha_);
    find_maximum(next);
  }

  [[gnu::noinline]] void turn_around_maximum(Row next) {
    const A sum = powers_beside_results(Around(scale_, shift_), next);
    by_ = normalizer<A>(kMap, {shift_, sum}, alpha_);
    if (!any(tame_.may_hold(splat<V>(shift_), splat<V>(sum)))) return;
    is_far_ = !take_raised(powers_alone(raised()));
    if (is_far_) by_ = normalizer<A>(kMap, {shift_, powers_alone(Around(scale_, shift_))}, alpha_);
  }

  RaisedPower raised() const { return RaisedPower(splat<V>(scale_)); }

  /// Whether the sum of raised powers says all there is to know.
  bool take_raised(A raised_sum) {
    const V sum = splat<V>(raised_sum);
    if (!are_all(tame_(sum))) return false;
    const auto logarithm = TameSums::logarithm(sum);
    const A times = static_cast<A>(alpha_);
    by_ = kKeeps ? Normalizer<A>{A(0), most_of_softmax<A>(alpha_), times / raised_sum}
                 : Normalizer<A>{lane(logarithm.shift, 0), lane(logarithm.rest, 0), times};
    return true;
  }

  template <class Power>
  A powers_beside_results(const Power& power, Row next) {
    const Result<kMap, A> result(scale_, by_);
    if constexpr (kNeedsMaximum<Power>) most_ = splat<V>(-kInfinity<V>);
    tree_.start();
    const T* const coming = kNeedsMaximum<Power> ? next.in : current_.in;
    each_piece<A>(reduced_, elements_, [&](const Piece& piece) { take(piece, coming, power, result); });
    previous_ = current_;
    return tree_.result();
  }

  template <class Power>
  [[gnu::noinline]] A powers_alone(const Power& power) {
    tree_.start();
    each_piece<A>(reduced_, elements_, [&](const Piece& piece) {
      PowerSums<V> sum;
      add_powers<kKept>(current_.in + piece.from, powers_ + piece.at, piece.n, power, sum);
      tree_.push(sum.total(), piece.n);
    });
    return tree_.result();
  }

  template <class Power>
  [[gnu::always_inline]] void take(const Piece& piece, const T* next, const Power& power,
                                   const Result<kMap, A>& result) {
    const T* x = current_.in + piece.from;
    A* powers = powers_ + piece.at;
    next += piece.from;
    PowerSums<V> sum;
    Index done = 0;
    if (previous_.out != nullptr) {
      const Index begin = align(piece, result), end = std::min(piece.n + ahead_, piece.left);
      const Index turns = std::max<Index>(0, end - begin) / kTurn<A>;
      done = turns * kTurn<A>;
      const T* ahead = coming_.any() && piece.starts_run ? in_ + coming_.next() : next + ahead_of(piece, next);
      most_ = three_looks<kKept, kStreams>(turns, next, ahead, most_, x, powers, power, sum, source(piece) + begin,
                                           previous_.out + piece.to + begin, result);
      ask_for_rest(ahead + done, piece.n - done);
      write(piece, begin + done, end, result);
    }
    if (done < piece.n) {
      if constexpr (kNeedsMaximum<Power>) most_ = largest(next + done, piece.n - done, most_);
      add_powers<kKept>(x + done, powers + done, piece.n - done, power, sum);
    }
    tree_.push(sum.total(), piece.n);
  }

  // What is asked for early is further runs and rows, wherever those begin.
  Index ahead_of(const Piece& piece, const T* next) const {
    constexpr Index kShortRun = 128;  // where divisions cost more than waiting
    const Index ahead = ahead_of_writes(next, previous_.out + piece.to);
    const Index run = inner(reduced_).size, at = piece.at + ahead;
    if (run < kShortRun) return ahead;
    const Index in_row = at % elements_;
    return at / elements_ * row_stride_ + in_row / run * run_stride_ + in_row % run - piece.from;
  }

  // Streamed results run ahead of the powers, by what aligns them: powers are read before others take their place.
  [[gnu::always_inline]] Index align(const Piece& piece, const Result<kMap, A>& result) {
    if (!kStreams || !piece.starts_run) return ahead_;
    ahead_ = line_.begin(previous_.out + piece.to, piece.left);
    write_results<false>(source(piece), line_.next(), ahead_, result);
    line_.add(ahead_);
    return ahead_;
  }

  const auto* source(const Piece& piece) const {
    if constexpr (kKept != Kept::nothing)
      return static_cast<const A*>(powers_) + piece.at;
    else
      return previous_.in + piece.from;
  }

  void write(const Piece& piece, Index begin, Index end, const Result<kMap, A>& result) {
    if (begin >= end) return;  // an earlier piece ran ahead to the end of the run
    T* out = previous_.out + piece.to;
    const Index rest = kStreams ? (end - begin) % kLanes<V> : 0;
    write_results<kStreams>(source(piece) + begin, out + begin, end - begin - rest, result);
    if (rest == 0) return;
    line_.end(out + end - rest);
    write_results<false>(source(piece) + end - rest, line_.next(), rest, result);
    line_.add(rest);
  }

  const T* in_;
  AxisList reduced_;
  Index elements_, row_stride_, run_stride_;
  A scale_;
  double alpha_;
  TameSums tame_;
  bool is_far_ = false;  ///< rows are expected to need their maxima
  A* powers_;
  Row current_ = {}, previous_ = {};
  A shift_ = 0;
  Normalizer<A> by_ = {};
  Index ahead_ = 0;
  StreamedLine<T> line_;
  V most_ = splat<V>(0);
  PowerTree<V> tree_;
  ComingRuns coming_;
};

}  // namespace ndfold::simd
