// {max, Σ exp(x - max)} of rows that are runs here and there: a block of runs is looked at twice, first for the
// maximum, while the powers of the block before are summed, whichever outputs both belong to.
#pragma once
#include "kernels/cpu/coming_runs.h"
#include "kernels/cpu/softmax_fold.h"

namespace ndfold::simd {

/// Runs of one output, as many as a core's first cache holds with those of the next block.
template <class T>
struct RunBlock {
  static constexpr int kMostRuns = 64;
  static constexpr Index kMostElements = (16 << 10) / sizeof(NumberOf<T>);
  struct Run {
    const T* x;
    Index n;
    bool begins;  ///< rather than goes on where a block ended
  };
  Run runs[kMostRuns];
  int count = 0;
  bool ends = false;  ///< its output

  Run run(int i) const { return i < count ? runs[i] : Run{nullptr, 0, false}; }
};

/// The runs of blocks [first, last) of a step, in order.
template <class T>
class RunBlocks {
 public:
  RunBlocks(const Arguments& step, Index first, Index last)
      : step_(step),
        run_(inner(step.reduced)),
        reduced_(elements(step.reduced)),
        left_blocks_(last - first),
        part_(first % step.parts),
        kept_(step.kept, first / step.parts),
        lines_(outer(step.reduced)) {
    if (left_blocks_ > 0) begin();
  }

  /// Without runs when there are none left.
  void next(RunBlock<T>& block) {
    block.count = 0;
    block.ends = false;
    if (left_blocks_ == 0) return;
    const T* base = elements_at<T>(step_.in, kept_.in());
    for (Index room = block.kMostElements; room > 0 && left_ > 0 && block.count < block.kMostRuns;) {
      const Index n = std::min({run_.size - position_, left_, room});
      block.runs[block.count++] = {base + lines_.in() + position_, n, position_ == 0};
      left_ -= n, room -= n;
      if ((position_ += n) == run_.size) position_ = 0, lines_.next();
    }
    if (left_ > 0) return;
    block.ends = true;
    if (++part_ == step_.parts) part_ = 0, kept_.next();
    if (--left_blocks_ > 0) begin();
  }

 private:
  void begin() {
    const Index from = part_ * step_.part;
    left_ = std::min(step_.part, reduced_ - from);
    position_ = from % run_.size;
    lines_ = Odometer(outer(step_.reduced), from / run_.size);
  }

  const Arguments& step_;
  Axis run_;
  Index reduced_, left_blocks_, part_;
  Odometer kept_, lines_;
  Index left_ = 0, position_ = 0;
};

template <class T>
class RunsFold {
  using A = NumberOf<T>;
  using V = LanesOf<A>;
  using Block = RunBlock<T>;

 public:
  /// Of blocks [first, last), which have as many outputs as parts.
  RunsFold(const Arguments& step, Index first, Index last)
      : base_(elements_at<T>(step.in, 0)),
        scale_(static_cast<A>(step.scale)),
        coming_(step, first, kAsksAhead || step.parts > 1 ? first : last) {}

  void first(const Block& block) {
    for (int i = 0; i < block.count; ++i) most_ = largest(block.runs[i].x, block.runs[i].n, most_);
  }

  /// The state of a block; meanwhile the maximum of the next is found, and lines of it and of `after` are asked for.
  MaxAndSum<A> fold(const Block& block, const Block& next, const Block& after) {
    const A max = packet::predux_max(most_.value) * scale_;
    const PowerAroundMaximum<A> power(scale_, max);
    most_ = splat<V>(-kInfinity<V>);
    tree_.start();
    const int ahead = static_cast<int>((ahead_elements<T>() - 1) / block.runs[0].n) + 1;
    for (int i = 0; i < block.count; ++i) {
      take(block.runs[i], next.run(i), coming_.any() ? coming(block.runs[i]) : later(next, after, i + ahead), power);
    }
    for (int i = block.count; i < next.count; ++i) most_ = largest(next.runs[i].x, next.runs[i].n, most_);
    if (max != kInfinity<A> && max != -kInfinity<A>) return {max, tree_.result()};
    A sum = max > A(0) ? A(1) : A(0);
    for (int i = 0; i < block.count; ++i) {
      const A here = sum_around_infinity(block.runs[i].x, block.runs[i].n, max);
      if (here != here) sum = here;
    }
    return {max, sum};
  }

 private:
  using Run = typename Block::Run;

  Run coming(Run taken) {
    if (!taken.begins) return {nullptr, 0, false};
    return {base_ + coming_.next(), taken.n, true};
  }
  static Run later(const Block& next, const Block& after, int i) {
    return i < next.count ? next.runs[i] : after.run(i - next.count);
  }

  [[gnu::always_inline]] void take(Run run, Run next, Run asked, const PowerAroundMaximum<A>& power) {
    for (Index i = 0; i < run.n; i += kPowerLeaf<A>) {
      const Index count = std::min(kPowerLeaf<A>, run.n - i), seen = std::min(count, next.n - i);
      const Index turns = std::max<Index>(0, seen) / kTurn<A>, done = turns * kTurn<A>;
      const T* const x = run.x + i;
      PowerSums<V> sum;
      most_ = three_looks<Kept::nothing, false, T, T>(
          turns, next.n > i ? next.x + i : x, asked.n > i ? asked.x + i : x, most_, x, static_cast<A*>(nullptr), power,
          sum, static_cast<const T*>(nullptr), static_cast<T*>(nullptr), NoResult());
      if (done < seen) most_ = largest(next.x + i + done, seen - done, most_);
      if (done < count) add_powers<Kept::nothing>(x + done, static_cast<A*>(nullptr), count - done, power, sum);
      tree_.push(sum.total(), count);
    }
    if (run.n < next.n) most_ = largest(next.x + run.n, next.n - run.n, most_);
  }

  const T* base_;
  A scale_;
  V most_ = splat<V>(-kInfinity<V>);
  PowerTree<V> tree_;
  ComingRuns coming_;
};

/// Blocks: output-major, `parts` to an output.
template <template <class> class F, class T>
void fold_dense_runs(const Arguments& step, Index first, Index last) {
  using A = NumberOf<T>;
  const auto fold = make_fold<F<A>>({.scale = step.scale});
  RunBlocks<T> walk(step, first, last);
  RunBlock<T> blocks[3];
  for (auto& block : blocks) walk.next(block);
  RunsFold<T> runs(step, first, last);
  runs.first(blocks[0]);
  Index at = first;
  Odometer kept(step.kept, first / step.parts);
  Tree<OnlineSoftmax<A>> tree({});
  for (int turn = 0; blocks[turn].count > 0; turn = (turn + 1) % 3) {
    RunBlock<T>& block = blocks[turn];
    tree.push(runs.fold(block, blocks[(turn + 1) % 3], blocks[(turn + 2) % 3]));
    if (block.ends) {
      sink_state(step, fold, with_one_nan(tree.result()), kept.out(), at);
      std::construct_at(&tree, OnlineSoftmax<A>());
      if (++at % step.parts == 0) kept.next();
    }
    walk.next(block);
  }
}

/// The same for dense rows of any number of runs.
template <template <class> class F, class T>
void fold_dense(const Arguments& step, Index first, Index last) {
  step.reduced.rank > 1 ? fold_dense_runs<F, T>(step, first, last) : fold_dense_rows<F, T>(step, first, last);
}

}  // namespace ndfold::simd
