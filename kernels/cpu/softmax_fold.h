// {max, Σ exp(x - max)} of dense rows, a block that a core's cache holds at a time and one rescale a block: its powers
// are raised, or it is looked at twice, first for the maximum, while the powers of the block before are summed.
#pragma once
#include "kernels/cpu/dense_rows.h"
#include "kernels/cpu/packed_rows.h"
#include "kernels/cpu/power_tree.h"
#include "kernels/cpu/short_rows.h"
#include "kernels/cpu/sink.h"

namespace ndfold::simd {

/// Σ powers around an infinite maximum: a NaN if there is one, what leaves log Σ right if there is none.
template <class T, class A = NumberOf<T>>
A sum_around_infinity(const T* x, Index n, A max) {
  A sum = max > A(0) ? A(1) : A(0);
  for (Index i = 0; i < n; ++i) {
    const A value = static_cast<A>(x[i]);
    if (value != value) sum = std::numeric_limits<A>::quiet_NaN();
  }
  return sum;
}

template <class T>
class SoftmaxFold {
  using A = NumberOf<T>;
  using V = LanesOf<A>;
  static constexpr Index kBlock = (16 << 10) / sizeof(A);

 public:
  explicit SoftmaxFold(double scale) : scale_(static_cast<A>(scale)) {}

  /// The state of the n elements at x. `after` is where the next call's begin, or nothing: it is fetched meanwhile.
  MaxAndSum<A> fold(const T* x, Index n, const T* after, Index after_n) {
    if constexpr (kRaisesPowers<A>) return fold_raised(x, n);
    if (x != ready_) most_ = largest(x, std::min(n, kBlock), splat<V>(-kInfinity<V>));
    Tree<OnlineSoftmax<A>> tree({});
    while (n > 0) {
      const Index count = std::min(n, kBlock), left = n - count;
      const Index next_n = std::min(left > 0 ? left : after_n, kBlock);
      const T* next = left > 0 ? x + count : next_n > 0 ? after : x;
      tree.push(block(x, count, next, next_n));
      ready_ = next_n > 0 ? next : nullptr;
      x += count, n = left;
    }
    return tree.result();
  }

 private:
  MaxAndSum<A> fold_raised(const T* x, Index n) {
    Tree<OnlineSoftmax<A>> tree({});
    for (; n > 0; x += kBlock, n -= kBlock) tree.push(raised_block(x, std::min(n, kBlock)));
    return tree.result();
  }

  MaxAndSum<A> raised_block(const T* x, Index n) {
    tree_.start();
    for (Index i = 0; i < n; i += kPowerLeaf<A>) {
      const Index count = std::min(kPowerLeaf<A>, n - i);
      tree_.push(with_raised_power(scale_, [&](const auto& power) { return raised_sum(x + i, count, power); }), count);
    }
    const V sum = splat<V>(tree_.result());
    if (are_all(TameSums(1)(sum))) {
      const MaxAndSum<V> state = TameSums::state(sum);
      return {lane(state.max, 0), lane(state.sum, 0)};
    }
    most_ = largest(x, n, splat<V>(-kInfinity<V>));
    return block(x, n, x, 0);
  }

  // As add_powers: whoever makes a sum, it has the same bits.
  template <class Power>
  [[gnu::noinline, gnu::flatten]] V raised_sum(const T* x, Index n, const Power raised) const {
    constexpr int kWidth = kLanes<V>;
    const Index ahead = kBlock + ahead_elements<T>();
    PowerSums<V> to;
    Index i = 0;
    for (; i + kTurn<A> <= n; i += kTurn<A>)
      for (int k = 0; k < kAbreast; ++k) {
        ask_early(x + i + k * kWidth + ahead);
        to.sums[k] = to.sums[k] + raised(load_elements(x + i + k * kWidth));
      }
    for (int k = 0; i < n; i += kWidth, ++k) {
      const int rest = static_cast<int>(std::min<Index>(n - i, kWidth));
      const V power = raised(load_elements(x + i, rest));
      to.sums[k] = to.sums[k] + select(first_lanes<A>(rest), power, splat<V>(0));
    }
    return to.total();
  }

  MaxAndSum<A> block(const T* x, Index n, const T* next, Index next_n) {
    const A max = packet::predux_max(most_.value) * scale_;
    const PowerAroundMaximum<A> power(scale_, max);
    most_ = splat<V>(-kInfinity<V>);
    tree_.start();
    for (Index i = 0; i < n; i += kPowerLeaf<A>) {
      const Index count = std::min(kPowerLeaf<A>, n - i);
      const Index turns = std::max<Index>(0, std::min(count, next_n - i)) / kTurn<A>, done = turns * kTurn<A>;
      PowerSums<V> sum;
      most_ = two_looks(turns, next + i, most_, x + i, power, sum);
      if (done < count) {
        if (i + done < next_n) most_ = largest(next + i + done, std::min(count, next_n - i) - done, most_);
        add_powers<Kept::nothing>(x + i + done, static_cast<A*>(nullptr), count - done, power, sum);
      }
      tree_.push(sum.total(), count);
    }
    if (n < next_n) most_ = largest(next + n, next_n - n, most_);
    if (max == kInfinity<A> || max == -kInfinity<A>) return {max, sum_around_infinity(x, n, max)};
    return {max, tree_.result()};
  }

  A scale_;
  const T* ready_ = nullptr;  // where the block begins whose maximum is known
  V most_ = splat<V>(0);
  PowerTree<V> tree_;
};

/// Whatever NaN a fold came to, one stands for all.
template <class A>
MaxAndSum<A> with_one_nan(MaxAndSum<A> state) {
  constexpr A kNone = std::numeric_limits<A>::quiet_NaN();
  return state.sum == state.sum ? state : MaxAndSum<A>{state.max == state.max ? state.max : kNone, kNone};
}

/// The state of reduced elements [begin, end) of the output at `base`.
template <class T>
MaxAndSum<NumberOf<T>> dense_state(const Arguments& step, SoftmaxFold<T>& fold, const T* base, Index begin, Index end,
                                   const T* after, Index after_n) {
  using A = NumberOf<T>;
  const Axis run = inner(step.reduced);
  if (step.reduced.rank <= 1) return fold.fold(base + begin, end - begin, after, after_n);
  Odometer lines(outer(step.reduced), begin / run.size);
  Tree<OnlineSoftmax<A>> tree({});
  for (Index position = begin % run.size, left = end - begin; left > 0; position = 0) {
    const Index n = std::min(run.size - position, left);
    const T* x = base + lines.in() + position;
    lines.next();
    left -= n;
    tree.push(fold.fold(x, n, left > 0 ? base + lines.in() : after, left > 0 ? std::min(run.size, left) : after_n));
  }
  return tree.result();
}

/// What a row comes to whose maximum may be infinite, or which may have a NaN.
template <class T, class A = NumberOf<T>>
[[gnu::noinline]] A logarithm_around_infinity(const T* x, Index n, A scale) {
  using V = LanesOf<A>;
  const A max = packet::predux_max(largest(x, n, splat<V>(-kInfinity<V>)).value) * scale;
  const A sum = sum_around_infinity(x, n, max);
  constexpr A kNone = std::numeric_limits<A>::quiet_NaN();
  return (max == kInfinity<A> || max == -kInfinity<A>)&&sum == sum ? max + std::log(sum) : kNone;
}

/// Stores the logarithms of the sums of the rows of n elements at `in`, once those that are no number are looked at.
template <class T, class A = NumberOf<T>>
[[gnu::always_inline]] inline void store_logarithms(const Arguments& step, const T* in, Index n, Index to, Index rows,
                                                    A* logarithms, bool are_numbers) {
  if (!are_numbers) [[unlikely]]
    for (Index r = 0; r < rows; ++r)
      if (logarithms[r] != logarithms[r])
        logarithms[r] = logarithm_around_infinity(in + r * inner(step.kept).in, n, static_cast<A>(step.scale));
  store_run(step.output, advance(step.out, step.output, to), inner(step.kept).out, rows, logarithms);
}

/// logsumexp of rows that share vectors.
template <class T>
requires kRaisesPowers<NumberOf<T>>
void logsumexp_packed_rows(const Arguments& step, Index first, Index last) {
  const Index n = elements(step.reduced);
  each_row_group(step.kept, first, last, [&](Index from, Index to, Index rows) {
    const T* x = elements_at<T>(step.in, from);
    logarithms_of_packed_rows(x, rows, n, step.scale, [&](auto* logarithms, Index some) {
      using V = LanesOf<NumberOf<T>>;
      bool are_numbers = true;
      for (Index r = 0; r < some; r += kLanes<V>)  // whole lanes are there
        are_numbers = are_numbers && are_all(equal(load<V>(logarithms + r), load<V>(logarithms + r)));
      store_logarithms(step, x, n, to, some, logarithms, are_numbers);
      x += some * n, to += some * inner(step.kept).out;
    });
  });
}

/// logsumexp of rows too short to fill a core alone, a logarithm for several.
template <class T>
void logsumexp_short_rows(const Arguments& step, Index first, Index last) {
  using A = NumberOf<T>;
  using Rows = ShortRows<T, MapKind::log_softmax, 0>;
  const Index n = elements(step.reduced), in_stride = inner(step.kept).in, out_stride = inner(step.kept).out;
  const Rows kernel(n, step.scale, 1, nullptr);
  each_row_group(step.kept, first, last, [&](Index from, Index to, Index rows) {
    const RowGroup<T> group = {elements_at<T>(step.in, from), nullptr, rows, in_stride, 0};
    RowGroup<T> next = rows_at_once<Rows>(group, 0);
    auto maxima = kernel.scaled_maxima(next);
    for (Index row = 0; row < rows; row += Rows::kAtOnce) {
      const RowGroup<T> current = next;
      next = rows_at_once<Rows>(group, row + Rows::kAtOnce);
      const auto made = kernel.logarithms(current, maxima, next);
      A logarithms[Rows::kAtOnce];
      store(logarithms, made);
      store_logarithms(step, current.in, n, to + row * out_stride, current.rows, logarithms,
                       are_all(equal(made, made)));
    }
  });
}

/// Blocks: output-major, `parts` to an output; a row is one run.
template <template <class> class F, class T>
void fold_dense_rows(const Arguments& step, Index first, Index last) {
  using A = NumberOf<T>;
  const auto fold = make_fold<F<A>>({.scale = step.scale});
  const Index reduced = elements(step.reduced);
  if constexpr (std::is_same_v<F<A>, LogSumExp<A>>)
    if (reduced < 2 * kLongRow<A> && step.sink == SinkKind::store && step.parts == 1 && step.repeat == 1) {
      if constexpr (kRaisesPowers<A>)
        if (inner(step.kept).in == reduced && folds_packed_rows<T>(inner(step.kept).size, reduced))
          return logsumexp_packed_rows<T>(step, first, last);
      return logsumexp_short_rows<T>(step, first, last);
    }
  SoftmaxFold<T> states(step.scale);
  Index part = first % step.parts;
  Odometer kept(step.kept, first / step.parts);
  for (Index block = first; block < last; ++block) {
    const Index out = kept.out(), begin = part * step.part, end = std::min(begin + step.part, reduced);
    const T* base = elements_at<T>(step.in, kept.in());
    if (++part == step.parts) part = 0, kept.next();
    const bool more = block + 1 < last;
    const T* after = more ? elements_at<T>(step.in, kept.in()) : nullptr;
    const Index next = part * step.part, after_n = more ? std::min(step.part, reduced - next) : 0;
    const auto state = states.fold(base + begin, end - begin, more ? after + next : nullptr, after_n);
    sink_state(step, fold, with_one_nan(state), out, block);
  }
}

}  // namespace ndfold::simd
