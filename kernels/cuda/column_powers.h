// Columns of a softmax side by side: batches of rows go into the sums of all of a lane's columns at once. What powers
// are measured from stays until an element is well above it, so that a batch costs little but its powers.
#pragma once
#include "kernels/cuda/any_extreme.h"
#include "kernels/cuda/batch.h"
#include "kernels/cuda/source.h"

namespace ndfold::cuda {

/// Folds with a running pivot in float, of elements that are compared as they lie in memory.
template <class F, class Source>
concept SideBySide = RunningFold<F> && std::is_same_v<typename F::Value, float> &&
    std::is_same_v<typename Source::Value, float> &&
    (std::is_same_v<typename Source::Element, float> || kIs16BitFloat<typename Source::Element>);

/// A number for each column of a pack: elements where two are compared at once, else floats.
template <class Source>
inline constexpr bool kInPairs = InPairs<Source> && !kIsApart<Source>;
template <class Source>
using NumbersOfPack = std::conditional_t<kInPairs<Source>, PackOf<Source>, Pack<float, Source::kSize>>;

template <class Source>
__device__ NumbersOfPack<Source> numbers_of_pack(const PackOf<Source>& pack) {
  if constexpr (kInPairs<Source>) {
    return pack;
  } else {
    NumbersOfPack<Source> numbers;
#pragma unroll
    for (int c = 0; c < Source::kSize; ++c) numbers.at[c] = number_of<Source>(pack, c);
    return numbers;
  }
}

/// Number `column` of them.
template <class Source>
__device__ float number_in(const NumbersOfPack<Source>& numbers, int column) {
  if constexpr (kInPairs<Source>)
    return number_of<Source>(numbers, column);
  else
    return numbers.at[column];
}

/// Whether any is above its limit; a NaN is not.
template <class Source>
__device__ bool are_above(const NumbersOfPack<Source>& numbers, const NumbersOfPack<Source>& limits) {
  if constexpr (kInPairs<Source>) {
    const auto larger = std::bit_cast<WordsOfPack<Source>>(any_extreme<false>(numbers, limits));
    const auto words = std::bit_cast<WordsOfPack<Source>>(limits);
    std::uint32_t others = 0;
#pragma unroll
    for (int i = 0; i < Source::kSize / 2; ++i) others |= larger.at[i] ^ words.at[i];
    return others != 0;
  } else {
    bool any = false;
#pragma unroll
    for (int c = 0; c < Source::kSize; ++c) any |= numbers.at[c] > limits.at[c];
    return any;
  }
}

/// A column's sums, of the last batches and of those before, measured from `from`: the largest element, or one that is
/// no more than kNear below it.
struct PowersOfColumn {
  static constexpr float kNear = 4 * Exponent<float>::kLn2;  // powers up to 16: their rounding stays what it is

  float from, sum, before;

  /// -inf: nothing yet. Powers are 0 whatever they are measured from.
  __device__ static bool is_ordinary(float from) {
    return Exponent<float>::is_ordinary(from == -folds::kInfinity<float> ? 0.0f : from);
  }
  __device__ static float origin_of(float from) {
    return from == -folds::kInfinity<float> ? 0.0f : from * Exponent<float>::kLog2E;
  }

  __device__ void measure_from(float larger) {
    if (!(larger > from)) return;
    scale(Exponent<float>::shrink(from, larger));
    from = larger;
  }
  __device__ void scale(float factor) { sum *= factor, before *= factor; }
};

/// Some numbers, the first `count` of them or all, as a view for fold_view().
template <int kNumbers>
struct FewNumbers {
  static constexpr int kCount = kNumbers, kGroup = 1;
  float at[kNumbers];
  int count;

  __device__ float number(int i) const { return at[i]; }
  __device__ Index index(int) const { return 0; }
  __device__ bool has(int i) const { return i < count; }
};

/// A batch of one column, with the bits that it has beside ordinary ones. Not inlined: a lane's columns would be a loop
/// as long as all else. By value: what has an address is not in registers.
template <bool kAll, int kNumbers, class F>
[[gnu::noinline]] __device__ PowersOfColumn absorb_alone(F fold, FewNumbers<kNumbers> numbers, PowersOfColumn column) {
  const float largest = first_look<kAll>(fold, numbers);
  const float from = largest > column.from + PowersOfColumn::kNear ? largest : column.from;
  if (fold.scale > 0 && PowersOfColumn::is_ordinary(from)) {
    column.measure_from(from);
    const Exponent<float> exponent{fold.scale * Exponent<float>::kLog2E, PowersOfColumn::origin_of(column.from)};
    column.sum += fold_plainly<kAll>(fold.around(exponent), numbers);
  } else {
    column.measure_from(largest);
    column.sum += fold_plainly<kAll>(fold.around(column.from, 0), numbers);
  }
  return column;
}

/// The last batches of a lane's columns. kCarries: there may be others before them.
template <class F, class Source, bool kCarries>
class NearPowers {
  using State = typename F::State;
  using Numbers = NumbersOfPack<Source>;
  static constexpr int kSize = Source::kSize;

 public:
  __device__ void begin(const F& fold) {
    fold_ = &fold;
    are_ordinary_ = fold.scale > 0;
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      columns_[c] = {-folds::kInfinity<float>, 0, 0};
      origins_[c] = 0;
    }
  }

  /// The first `count` rows, or all; the others repeat one of them. Nothing came before since begin().
  template <bool kAll, int kRows>
  __device__ void absorb(const PackOf<Source> (&rows)[kRows], int count) {
    raise<true>(largest_of_rows(rows));
    add_powers<kAll>(rows, count);
  }
  /// The same of later ones, after expect_more(), before which nothing at all may have come.
  template <bool kAll, int kRows>
  __device__ void absorb_more(const PackOf<Source> (&rows)[kRows], int count) {
    const Numbers largest = largest_of_rows(rows);
    if (are_above<Source>(largest, limits_)) raise<false>(largest);
    add_powers<kAll>(rows, count);
  }
  __device__ void expect_more() { find_limits(); }

  __device__ void result(State (&states)[kSize]) const {
#pragma unroll
    for (int c = 0; c < kSize; ++c)
      states[c] = {columns_[c].from, kCarries ? columns_[c].before + columns_[c].sum : columns_[c].sum};
  }
  /// The batches so far are before those that come.
  __device__ void carry() requires kCarries {
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      columns_[c].before += columns_[c].sum;
      columns_[c].sum = 0;
    }
  }
  /// What was carried, which is nobody's then.
  __device__ StatesOfLane<State, kSize> take_carried() requires kCarries {
    StatesOfLane<State, kSize> whole;
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      whole.at[c] = {columns_[c].from, columns_[c].before};
      columns_[c].before = 0;
    }
    return whole;
  }

 private:
  // Below what a column's elements may be, as they are in memory, by more than it was rounded.
  __device__ void find_limits() {
    constexpr float kRounded = 0x1p-6f;
    const float inverse = reciprocal(fold_->scale);
    Numbers limits;
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      const float limit = (columns_[c].from + PowersOfColumn::kNear) * inverse;
      limits.at[c] = to_element<std::decay_t<decltype(limits.at[c])>>(limit - std::fabs(limit) * kRounded);
    }
    limits_ = limits;
  }

  template <int kRows>
  __device__ static Numbers largest_of_rows(const PackOf<Source> (&rows)[kRows]) {
    Numbers largest = numbers_of_pack<Source>(rows[0]);
#pragma unroll
    for (int r = 1; r < kRows; ++r) largest = any_extreme<false>(largest, numbers_of_pack<Source>(rows[r]));
    return largest;
  }

  // Columns whose largest element is well above what they were measured from, until one of them is out of the ordinary.
  template <bool kFirst>
  __device__ void raise(const Numbers& largest) {
    float from[kSize];
    bool ordinary = are_ordinary_;
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      const float number = number_in<Source>(largest, c) * fold_->scale;
      from[c] = number > columns_[c].from + PowersOfColumn::kNear ? number : columns_[c].from;
      ordinary &= PowersOfColumn::is_ordinary(from[c]);
    }
    are_ordinary_ = ordinary;
    if (!ordinary) return;
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      origins_[c] = PowersOfColumn::origin_of(from[c]);
      if constexpr (!kFirst) {
        const float factor = power_of_two(columns_[c].from * Exponent<float>::kLog2E - origins_[c]);
        columns_[c].sum *= factor;
        if constexpr (kCarries) columns_[c].before *= factor;
      }
      columns_[c].from = from[c];
    }
    if constexpr (!kFirst) find_limits();
  }

  template <bool kAll, int kRows>
  __device__ void add_powers(const PackOf<Source> (&rows)[kRows], int count) {
    if (!are_ordinary_) return absorb_in_turn<kAll>(rows, count);
    const float rate = fold_->scale * Exponent<float>::kLog2E;
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      const Exponent<float> exponent{rate, origins_[c]};
      float sum = 0;
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        if (kAll || r < count) sum += exponent.power(number_of<Source>(rows[r], c));
      columns_[c].sum += sum;
    }
  }
  template <bool kAll, int kRows>
  __device__ void absorb_in_turn(const PackOf<Source> (&rows)[kRows], int count) {
    are_ordinary_ = fold_->scale > 0;
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      FewNumbers<kRows> numbers;
      numbers.count = count;
#pragma unroll
      for (int r = 0; r < kRows; ++r) numbers.at[r] = number_of<Source>(rows[r], c);
      columns_[c] = absorb_alone<kAll>(*fold_, numbers, columns_[c]);
      origins_[c] = PowersOfColumn::origin_of(columns_[c].from);
      are_ordinary_ &= PowersOfColumn::is_ordinary(columns_[c].from);
    }
    find_limits();
  }

  const F* fold_ = nullptr;
  bool are_ordinary_ = false;  ///< and the scale is one that maxima rise with
  PowersOfColumn columns_[kSize];
  float origins_[kSize];
  Numbers limits_;
};

/// What a Tree is to other folds: sums are merged 16 batches at a time.
template <class F, class Source>
class PowersOfColumns {
  using State = typename F::State;
  static constexpr int kSize = Source::kSize, kWay = 16;

 public:
  __device__ PowersOfColumns(const F& fold, TreeLevels<F, kSize>& levels) : far_(fold, levels) {
    near_.begin(fold);
    near_.expect_more();
  }

  /// As in NearPowers.
  template <bool kAll, int kRows>
  __device__ void absorb(const PackOf<Source> (&rows)[kRows], int count) {
    near_.template absorb_more<kAll>(rows, count);
    if (++batches_ == kWay) [[unlikely]]
      carry();
  }

  __device__ void result(State (&states)[kSize]) {
    StatesOfLane<State, kSize> last;
    near_.result(last.at);
    const auto whole = far_.with(last);
    copy_columns(states, whole.at);
  }

 private:
  __device__ void carry() {
    near_.carry();
    batches_ = 0;
    if (++merges_ < kWay) return;
    far_.carry(near_.take_carried());
    merges_ = 0;
  }

  FarStates<F, kSize> far_;
  int batches_ = 0;  ///< in sums
  int merges_ = 0;   ///< of sums, in those before
  NearPowers<F, Source, true> near_;
};

}  // namespace ndfold::cuda
