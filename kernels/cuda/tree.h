// The states of a lane's batches, merged so that the longest path from an element to its sum grows with a logarithm.
#pragma once
#include "kernels/cuda/dialect.h"
#include "kernels/folds/extremum.h"
#include "kernels/folds/fold.h"

namespace ndfold::cuda {

/// Folds whose combine never rounds: any order gives the same bits, so a running state will do.
template <class F>
concept Exact = std::is_integral_v<typename F::State> || requires {
  typename F::Values;
} || std::is_base_of_v<folds::Max<typename F::State>, F> || std::is_base_of_v<folds::Min<typename F::State>, F> ||
    std::is_base_of_v<folds::Linf<typename F::State>, F>;

/// States of 256 batches and more, kept apart from the tree: what is looked up by number is not in registers.
template <class F, int kColumns>
struct TreeLevels {
  static constexpr int kLevels = 7;  // 16^9 batches
  typename F::State at[Exact<F> ? 1 : kLevels][kColumns];
};

template <class State, int kColumns>
__device__ void copy_columns(State (&to)[kColumns], const State (&from)[kColumns]) {
#pragma unroll
  for (int c = 0; c < kColumns; ++c) to[c] = from[c];
}

/// Adds states of a lane's columns, in which it has as many elements each: shares of them are alike in all columns.
template <class F, int kColumns>
__device__ void add_columns(const F& fold, typename F::State (&states)[kColumns],
                            const typename F::State (&more)[kColumns]) {
  if constexpr (requires { typename F::Shares; } && kColumns > 1) {
    if (more[0].count == 0) return;
    if (states[0].count != 0) {
      const typename F::Shares shares(states[0].count, more[0].count);
#pragma unroll
      for (int c = 0; c < kColumns; ++c) states[c] = fold.combine(states[c], more[c], shares);
    } else {
      copy_columns(states, more);
    }
  } else {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) states[c] = fold.combine(states[c], more[c]);
  }
}

/// States of a lane's columns, side by side.
template <class State, int kColumns>
struct alignas(sizeof(State) * kColumns % 16 == 0 ? 16 : alignof(State)) StatesOfLane {
  State at[kColumns];
};

/// States of many batches of columns that are merged side by side: digits to the base 16, in memory. What comes and
/// goes does so by value and not inlined: what was kept there to be merged with it cost a trip to memory each time.
template <class F, int kColumns>
class FarStates {
  using Levels = TreeLevels<F, kColumns>;
  using States = StatesOfLane<typename F::State, kColumns>;
  static constexpr int kWay = 16;

 public:
  __device__ FarStates(const F& fold, Levels& levels) : fold_(fold), levels_(levels) {}

  /// What came last; a full level becomes a digit of the one above.
  __device__ void carry(const States& last) { carry(fold_, &levels_, carried_++, last); }
  /// What came last and all before it.
  __device__ States with(const States& last) const {
    return carried_ == 0 ? last : with_all(fold_, &levels_, carried_, last);
  }

 private:
  [[gnu::noinline]] __device__ static void carry(F fold, Levels* levels, unsigned before, States whole) {
    for (int level = 0;; ++level, before /= kWay) {
      if (before % kWay != 0) add_before(fold, levels->at[level], whole);
      copy_columns(levels->at[level], whole.at);
      if (before % kWay != kWay - 1 || level + 1 == Levels::kLevels) break;
    }
  }
  [[gnu::noinline]] __device__ static States with_all(F fold, const Levels* levels, unsigned carried, States whole) {
    for (int level = 0; carried != 0; ++level, carried /= kWay)
      if (carried % kWay != 0) add_before(fold, levels->at[level], whole);
    return whole;
  }
  __device__ static void add_before(const F& fold, const typename F::State (&earlier)[kColumns], States& states) {
#pragma unroll 1
    for (int c = 0; c < kColumns; ++c) states.at[c] = fold.combine(earlier[c], states.at[c]);
  }

  const F& fold_;
  Levels& levels_;
  unsigned carried_ = 0;
};

/// The states of at most 16 batches, one after the other; the words are the tree's.
template <class F, int kColumns>
class Sequence {
  using State = typename F::State;

 public:
  __device__ void begin(const F& fold) {
    fold_ = &fold;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) running_[c] = fold.identity();
  }

  __device__ void push(const State (&states)[kColumns]) {
    if (folds::PivotFold<F> && is_empty_)  // where combining is dear, not with an identity
      copy_columns(running_, states);
    else
      add_columns(*fold_, running_, states);
    is_empty_ = false;
  }
  __device__ void push_one(int column, const State& state) {
    running_[column] = fold_->combine(running_[column], state);
  }
  __device__ State& running(int column) { return running_[column]; }
  __device__ void pushed() {}
  __device__ const State (&result() const)[kColumns] { return running_; }
  __device__ void result(State (&states)[kColumns]) const { copy_columns(states, running_); }

 private:
  const F* fold_ = nullptr;
  bool is_empty_ = true;
  State running_[kColumns];
};

/// Merges 16 at a time. Batches and the first level stay in registers: with all levels in memory, where a stream of
/// elements drives them out of the cache, each carry took 1.5 us. Columns are folded side by side, each by itself.
template <class F, int kColumns>
class Tree {
  using State = typename F::State;
  using Levels = TreeLevels<F, kColumns>;
  static constexpr int kWay = 16;

 public:
  __device__ Tree(const F& fold, Levels& levels) : fold_(fold), levels_(levels) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) running_[c] = merged_[c] = fold.identity();
  }

  __device__ void push(const State (&states)[kColumns]) {
    if (folds::PivotFold<F> && batches_ == 0)  // where combining is dear, not with an identity
      copy_columns(running_, states);
    else
      add_columns(fold_, running_, states);
    if constexpr (!Exact<F>) pushed();
  }

  __device__ void push_one(int column, const State& state) requires Exact<F> {
    running_[column] = fold_.combine(running_[column], state);
  }
  /// All that was pushed, where the fold is Exact; else what was since the last carry.
  __device__ State& running(int column) { return running_[column]; }
  /// A batch went into the running states.
  __device__ void pushed() {
    if (++batches_ == kWay) carry();
  }

  __device__ void result(State (&states)[kColumns]) {
    if (Exact<F> || merges_ == 0) {
      copy_columns(states, running_);
    } else {
      copy_columns(states, merged_);
      add_columns(fold_, states, running_);
    }
    if constexpr (!Exact<F>)
      for (int level = 0; carried_ != 0; ++level, carried_ /= kWay)
        if (carried_ % kWay != 0) add_before(levels_.at[level], states);
  }
  __device__ State result() {
    static_assert(kColumns == 1);
    State whole[1];
    result(whole);
    return whole[0];
  }

 private:
  // The running state becomes part of the merged one, which becomes the next digit of level 0 when it has 16 of them.
  __device__ void carry() {
    if (merges_ == 0)
      copy_columns(merged_, running_);
    else
      add_columns(fold_, merged_, running_);
#pragma unroll
    for (int c = 0; c < kColumns; ++c) running_[c] = fold_.identity();
    batches_ = 0;
    if (++merges_ == kWay) carry_far();
  }

  // What came before the states.
  __device__ void add_before(const State (&earlier)[kColumns], State (&states)[kColumns]) const {
    State whole[kColumns];
    copy_columns(whole, earlier);
    add_columns(fold_, whole, states);
    copy_columns(states, whole);
  }
  // A full level becomes a digit of the one above.
  __device__ void carry_far() {
    unsigned before = carried_++;
    for (int level = 0;; ++level, before /= kWay) {
      if (before % kWay != 0) add_before(levels_.at[level], merged_);
      copy_columns(levels_.at[level], merged_);
      if (before % kWay != kWay - 1 || level + 1 == Levels::kLevels) break;
    }
    merges_ = 0;
  }

  const F& fold_;
  Levels& levels_;
  int batches_ = 0;       ///< in running_
  int merges_ = 0;        ///< of running states, in merged_
  unsigned carried_ = 0;  ///< its digits to the base kWay: the states of each level
  State running_[kColumns], merged_[kColumns];
};

}  // namespace ndfold::cuda
