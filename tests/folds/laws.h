// The laws of folds, as a checker that names the one that is broken. It takes numbers and SIMD lanes alike.
#pragma once
#include "kernels/cpu/states.h"
#include "tests/folds/subjects.h"

#include <algorithm>

namespace ndfold::test {

using namespace folds;

using simd::kLanes;
using simd::Lanes;

/// Folds of one text on numbers (`One`) and on V, which is numbers or lanes.
template <template <class> class F, class A, class V>
class Laws {
 public:
  using One = F<A>;
  using Many = F<V>;
  using State = typename Many::State;
  static constexpr int kWidth = kLanes<V>;
  static constexpr Index kMost = 40;  // elements: trees of that height keep within the bounds of tests/support/bounds.h

  explicit Laws(const Subject& subject)
      : subject_(subject),
        one_(make_fold<One>({.scale = subject.scale, .ddof = subject.ddof})),
        many_(make_fold<Many>({.scale = subject.scale, .ddof = subject.ddof})) {}

  /// The first broken law and a counterexample, or nothing.
  std::string broken(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      Random random(static_cast<std::uint64_t>(round));
      const Index least = facts(subject_.op).needs_elements ? 1 : 0;
      draw(least + random.below(random.one_in(3) ? 4 : kMost), random);
      for (const auto law : {&Laws::trees, &Laws::neutral, &Laws::swapped, &Laws::regrouped, &Laws::split,
                             &Laws::pivoted, &Laws::repetition, &Laws::lanes_as_numbers}) {
        const std::string failure = (this->*law)(random);
        if (!failure.empty()) return failure + " (round " + std::to_string(round) + row_text() + ")";
      }
    }
    return {};
  }

 private:
  void draw(Index n, Random& random) {
    n_ = n;
    rows_.clear();
    for (int lane = 0; lane < kWidth; ++lane) rows_.push_back(any_row<A>(subject_.range, n, random));
    order_.resize(static_cast<std::size_t>(n));
    for (Index i = 0; i < n; ++i) order_[static_cast<std::size_t>(i)] = i;
    for (Index i = n; i > 1; --i)
      std::swap(order_[static_cast<std::size_t>(i - 1)], order_[static_cast<std::size_t>(random.below(i))]);
  }

  A number(int lane, Index i) const {
    return static_cast<A>(rows_[static_cast<std::size_t>(lane)][static_cast<std::size_t>(i)]);
  }

  V element(Index i) const {
    A values[kWidth];
    for (int lane = 0; lane < kWidth; ++lane) values[lane] = number(lane, i);
    return simd::load<V>(values);
  }

  // The state of elements order_[begin, end), one after the other.
  State in_a_row(Index begin, Index end) const {
    State state = many_.identity();
    for (Index i = begin; i < end; ++i) state = many_.combine(state, leaf(i));
    return state;
  }

  State leaf(Index i) const {
    const Index at = order_[static_cast<std::size_t>(i)];
    return many_.map(element(at), at);
  }

  // In two looks, as kernels fold a block.
  State around_pivot(Index begin, Index end) const {
    if constexpr (PivotFold<Many>) {
      const Index n = end - begin;
      const auto first = many_.pivot_fold();
      V total = first.identity();
      for (Index i = begin; i < end; ++i)
        total = first.combine(total, first.map(element(order_[static_cast<std::size_t>(i)]), 0));
      const V pivot = many_.pivot(total, n);
      const auto second = many_.around(pivot, n);
      V sum = second.identity();
      for (Index i = begin; i < end; ++i)
        sum = second.combine(sum, second.map(element(order_[static_cast<std::size_t>(i)]), 0));
      return many_.join(total, pivot, sum, n);
    } else {
      return in_a_row(begin, end);
    }
  }

  // Halves may be empty, come in any order, and end in blocks that were folded around a pivot.
  template <class Fold, class Leaf>
  typename Fold::State tree(const Fold& fold, const Leaf& leaves, Index begin, Index end, Random& random) const {
    if (begin == end) return fold.identity();
    if (end - begin == 1 && !random.one_in(4)) return leaves(begin, end);
    if (PivotFold<Many> && end - begin <= 6 && random.one_in(2)) return leaves(begin, end);
    const Index middle = begin + random.below(end - begin + 1);
    const auto left = tree(fold, leaves, begin, middle, random), right = tree(fold, leaves, middle, end, random);
    return random.one_in(2) ? fold.combine(left, right) : fold.combine(right, left);
  }

  State random_tree(Index begin, Index end, Random& random) const {
    const auto leaves = [&](Index from, Index to) { return to - from == 1 ? leaf(from) : around_pivot(from, to); };
    return tree(many_, leaves, begin, end, random);
  }

  auto lane(const State& state, int i) const {
    if constexpr (kWidth > 1)
      return simd::lane_state(state, i);
    else
      return (void)i, state;
  }

  // Every lane against the reference.
  std::string judge(const char* law, const State& state, Index times = 1) const {
    for (int i = 0; i < kWidth; ++i) {
      Row row;
      for (Index t = 0; t < times; ++t)
        row.insert(row.end(), rows_[static_cast<std::size_t>(i)].begin(), rows_[static_cast<std::size_t>(i)].end());
      const std::string wrong = misfit<A>(subject_, row, one_.finalize(lane(state, i), n_ * times));
      if (!wrong.empty()) return std::string(law) + ": lane " + std::to_string(i) + " " + wrong;
    }
    return {};
  }

  template <class R>
  static bool same_bits(R a, R b) {
    return is_same(static_cast<Real>(a), static_cast<Real>(b), true);
  }
  static bool same_bits(MaxAndSum<A> a, MaxAndSum<A> b) {
    const bool a_lost = a.max != a.max || a.sum != a.sum, b_lost = b.max != b.max || b.sum != b.sum;
    return a_lost || b_lost ? a_lost && b_lost : a.max == b.max && a.sum == b.sum;
  }

  // Results of two states, in every lane. A sum's +0 is not told from -0: its identity is +0.
  std::string equal(const char* law, const State& a, const State& b) const {
    for (int i = 0; i < kWidth; ++i) {
      const auto x = one_.finalize(lane(a, i), n_), y = one_.finalize(lane(b, i), n_);
      bool same = same_bits(x, y);
      if constexpr (std::is_floating_point_v<decltype(one_.finalize(lane(a, i), n_))>)
        same |= !subject_.exact && x == y;
      if (!same) return std::string(law) + ": lane " + std::to_string(i) + " differs";
    }
    return {};
  }

  std::string trees(Random& random) { return judge("a random tree", random_tree(0, n_, random)); }

  std::string neutral(Random& random) {
    const State state = random_tree(0, n_, random), nothing = many_.identity();
    const std::string left = equal("identity ∘ a = a", many_.combine(nothing, state), state);
    return left.empty() ? equal("a ∘ identity = a", many_.combine(state, nothing), state) : left;
  }

  std::string swapped(Random& random) {
    const Index middle = random.below(n_ + 1);
    const State a = random_tree(0, middle, random), b = random_tree(middle, n_, random);
    if (!subject_.commutes) return judge("a ∘ b", many_.combine(a, b)) + judge("b ∘ a", many_.combine(b, a));
    return equal("a ∘ b = b ∘ a", many_.combine(a, b), many_.combine(b, a));
  }

  std::string regrouped(Random& random) {
    const Index first = random.below(n_ + 1), second = first + random.below(n_ - first + 1);
    const State a = random_tree(0, first, random), b = random_tree(first, second, random),
                c = random_tree(second, n_, random);
    const State left = many_.combine(many_.combine(a, b), c), right = many_.combine(a, many_.combine(b, c));
    if (!subject_.exact) return judge("(a ∘ b) ∘ c", left) + judge("a ∘ (b ∘ c)", right);
    return equal("(a ∘ b) ∘ c = a ∘ (b ∘ c)", left, right);
  }

  // Partial keeps states, Merge takes them for elements: together they are the fold itself.
  std::string split(Random& random) {
    const Partial<Many> partial{many_};
    const Merge<Many> merge{many_};
    State total = merge.identity();
    for (Index begin = 0; begin < n_;) {
      const Index end = begin + 1 + random.below(n_ - begin);
      const State part = partial.finalize(in_a_row(begin, end), end - begin);
      total = merge.combine(total, merge.map(part, 0));  // its index is that of all elements
      begin = end;
    }
    return judge("merged partials", total);
  }

  std::string pivoted(Random&) { return n_ == 0 ? "" : judge("two looks", around_pivot(0, n_)); }

  std::string repetition(Random& random) {
    const Index times = random.below(kMost / std::max<Index>(n_, 1) + 1);
    if (n_ == 0 || (times == 0 && facts(subject_.op).needs_elements)) return {};
    return judge("repeated", repeated(many_, random_tree(0, n_, random), times), times);
  }

  // The same tree with the same text gives the same bits on lanes and on numbers.
  std::string lanes_as_numbers(Random& random) {
    if (kWidth == 1 || subject_.uses_exponential) return {};
    const std::uint64_t seed = random.bits();
    Random of_lanes(seed);
    const State states = random_tree(0, n_, of_lanes);
    for (int i = 0; i < kWidth; ++i) {
      Laws<F, A, A> alone(subject_);
      alone.n_ = n_, alone.order_ = order_, alone.rows_ = {rows_[static_cast<std::size_t>(i)]};
      Random of_numbers(seed);
      const auto state = alone.random_tree(0, n_, of_numbers);
      if (!same_bits(one_.finalize(lane(states, i), n_), one_.finalize(state, n_)))
        return "lanes = numbers: lane " + std::to_string(i) + " differs";
    }
    return {};
  }

  std::string row_text() const {
    std::ostringstream text;
    text.precision(9);
    for (const Row& row : rows_) {
      text << " |";
      for (const Real x : row) text << ' ' << x;
    }
    return text.str();
  }

  template <template <class> class, class, class>
  friend class Laws;

  Subject subject_;
  One one_;
  Many many_;
  Index n_ = 0;
  std::vector<Row> rows_;     // one a lane
  std::vector<Index> order_;  // in which elements are folded
};

/// The first broken law of F on A, and on lanes of A where folds have them.
template <template <class> class F, class A>
std::string broken_law(const Subject& subject, int rounds = 3000) {
  std::string broken = Laws<F, A, A>(subject).broken(rounds);
  if constexpr (std::is_floating_point_v<A> && !requires { typename F<A>::Values; }) {  // argmax has none
    if (!broken.empty()) return broken;
    broken = Laws<F, A, Lanes<A>>(subject).broken(rounds / 3);
    if (!broken.empty()) broken = "lanes: " + broken;
  }
  return broken;
}

}  // namespace ndfold::test
