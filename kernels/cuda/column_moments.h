// Columns of a variance side by side: batches of rows go into sums of distances from one number a column, and of their
// squares. That number is the mean of the first batch, so that nothing is looked at twice but that batch.
#pragma once
#include "kernels/cuda/batch.h"
#include "kernels/cuda/source.h"

namespace ndfold::cuda {

/// Folds of moments in float of 16-bit elements. What cancels costs up to nine times a sum's rounding where the first
/// rows are unlike those after them, of which wider elements would keep something (docs/numerics.md).
template <class F, class Source>
concept MomentsSideBySide = MomentsFold<F> && std::is_same_v<typename F::Value, float> &&
    std::is_same_v<typename Source::Value, float> && kIs16BitFloat<typename Source::Element>;

/// Up to 8 batches of up to 8 rows of a lane's columns. Of n rows, the first r of which have the mean that all are
/// measured from, squares add up to at most 1 + n/r times what they are around the mean of all.
template <class F, class Source>
class NearMoments {
  using State = typename F::State;
  static constexpr int kSize = Source::kSize;
  static constexpr float kRate = 0x1p-6f;  ///< rate² · 9 · 64 rows is below 1: overflows no sooner than the variance

 public:
  __device__ void begin(const F& fold) {
    fold_ = &fold;
    rows_ = 0;
  }
  __device__ bool is_empty() const { return rows_ == 0; }

  /// The first `count` rows, or all; the others repeat one of them. Nothing came before since begin().
  template <bool kAll, int kRows>
  __device__ void absorb(const PackOf<Source> (&rows)[kRows], int count) {
#pragma unroll
    for (int c = 0; c < kSize; ++c) {  // column by column: numbers of all of them are not in registers at once
      float sum = number_of<Source>(rows[0], c);
#pragma unroll
      for (int r = 1; r < kRows; ++r)
        if (kAll || r < count) sum += number_of<Source>(rows[r], c);
      origins_[c] = fold_->pivot(sum, kAll ? kRows : count) * kRate;
      sums_[c] = squares_[c] = 0;
      add_column<kAll>(rows, count, c);
    }
    rows_ = kAll ? kRows : count;
  }
  /// The same where there was a batch before.
  template <bool kAll, int kRows>
  __device__ void absorb_more(const PackOf<Source> (&rows)[kRows], int count) {
#pragma unroll
    for (int c = 0; c < kSize; ++c) add_column<kAll>(rows, count, c);
    rows_ += kAll ? kRows : count;
  }

  __device__ void result(State (&states)[kSize]) const {
    const float count = static_cast<float>(rows_), share = is_empty() ? 0.0f : reciprocal(count);
    const float per_row = share * (1 / (kRate * kRate));
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      const float moved = sums_[c] * share, around = std::fma(-sums_[c], moved, squares_[c]);
      states[c] = {count, (origins_[c] + moved) * (1 / kRate), (around < 0 ? 0.0f : around) * per_row};
    }
  }

 private:
  template <bool kAll, int kRows>
  __device__ void add_column(const PackOf<Source> (&rows)[kRows], int count, int c) {
    float sum = sums_[c], squares = squares_[c];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (!kAll && r >= count) continue;
      const float distance = std::fma(number_of<Source>(rows[r], c), kRate, -origins_[c]);
      sum += distance;
      squares = std::fma(distance, distance, squares);
    }
    sums_[c] = sum;
    squares_[c] = squares;
  }

  const F* fold_ = nullptr;
  int rows_ = 0;
  float origins_[kSize], sums_[kSize], squares_[kSize];
};

/// What a Tree is to other folds.
template <class F, class Source>
class MomentsOfColumns {
  using State = typename F::State;
  static constexpr int kSize = Source::kSize, kBatches = 8, kWay = 16;

 public:
  __device__ MomentsOfColumns(const F& fold, TreeLevels<F, kSize>& levels) : fold_(fold), far_(fold, levels) {
    near_.begin(fold);
  }

  template <bool kAll, int kRows>
  __device__ void absorb(const PackOf<Source> (&rows)[kRows], int count) {
    if (near_.is_empty())
      near_.template absorb<kAll>(rows, count);
    else
      near_.template absorb_more<kAll>(rows, count);
    if (++batches_ == kBatches) [[unlikely]]
      carry();
  }

  __device__ void result(State (&states)[kSize]) {
    const auto whole = far_.with(merged_with_near());
    copy_columns(states, whole.at);
  }

 private:
  __device__ StatesOfLane<State, kSize> merged_with_near() const {
    StatesOfLane<State, kSize> last, whole;
    near_.result(last.at);
    if (merges_ == 0) return last;
    copy_columns(whole.at, merged_);
    add_columns(fold_, whole.at, last.at);
    return whole;
  }
  __device__ void carry() {
    const auto whole = merged_with_near();
    near_.begin(fold_);
    batches_ = 0;
    if (++merges_ < kWay) return copy_columns(merged_, whole.at);
    far_.carry(whole);
    merges_ = 0;
  }

  const F& fold_;
  FarStates<F, kSize> far_;
  int batches_ = 0;  ///< in near_
  int merges_ = 0;   ///< of those, in merged_
  NearMoments<F, Source> near_;
  State merged_[kSize];
};

}  // namespace ndfold::cuda
