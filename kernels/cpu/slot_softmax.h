// Softmax of rows of few elements, one behind the other: as many as a vector has slots for, which stay in registers
// from the load to the store.
#pragma once
#include "kernels/cpu/raised_power.h"
#include "kernels/cpu/slots.h"
#include "kernels/cpu/softmax_looks.h"

#include <functional>

namespace ndfold::simd {

/// Where the halves of a slot meet: lane i with lane i ^ kHalf.
template <int kHalf>
struct OtherHalf {
  constexpr int operator()(int i) const { return i ^ kHalf; }
};

/// Every lane of a slot gets what op makes of all of its lanes: op does not mind which comes first.
template <int kSlots, class V, class Op>
[[gnu::always_inline]] inline V all_of_slot(V v, const Op& op) {
  if constexpr (kSlots == 1)
    return v;
  else
    return all_of_slot<kSlots / 2>(op(v, shuffled(v, v, OtherHalf<kSlots / 2>())), op);
}

/// Rows of kSlots elements. Longer rows that fill no power of two, and those that fill a vector, are quicker
/// transposed.
template <class T, MapKind kMap, int kSlots>
class SlotSoftmax {
  using A = NumberOf<T>;
  using V = LanesOf<A>;
  static constexpr int kWidth = kLanes<V>;
  static constexpr Index kStaged = 512;  // elements: both come and go all the time

 public:
  SlotSoftmax(double scale, double alpha)
      : scale_(splat<V>(static_cast<A>(scale))), alpha_(splat<V>(static_cast<A>(alpha))), tame_(alpha) {}

  /// n elements, of whole rows.
  [[gnu::noinline, gnu::flatten]] void map(const T* x, T* y, Index n) const {
    const Index ahead = ahead_elements<T>();
    for (; n >= kWidth; x += kWidth, y += kWidth, n -= kWidth) {
      ask_early(x + ahead);
      store_elements(y, mapped(load_elements(x)));
    }
    const int rest = static_cast<int>(n);
    if (rest > 0) store_elements(y, mapped(load_elements(x, rest)), rest);
  }

  /// The same by way of L1, from where whole lines are streamed.
  [[gnu::noinline]] void stream(const T* x, T* y, Index n) const {
    alignas(64) T staged[kStaged + 2 * kWidth];
    Index first = (kWidth - unaligned_elements(y)) % kWidth, held = first;
    T* line = y - first;
    for (Index left = n; left > 0;) {
      const Index some = std::min(kStaged, left), end = held + some, whole = end / kWidth * kWidth;
      map(x, staged + held, some);
      x += some, left -= some;
      Index at = 0;
      if (first > 0 && whole > 0) {
        std::copy(staged + first, staged + kWidth, line + first);
        at = kWidth, first = 0;
      }
      for (; at < whole; at += kWidth) stream_line(line + at, staged + at);
      std::copy(staged + whole, staged + end, staged);
      line += whole, held = end - whole;
    }
    std::copy(staged + first, staged + held, line + first);
  }

 private:
  [[gnu::always_inline]] V mapped(V x) const {
    const V scaled = x * scale_;
    if constexpr (kSlots == 1) {  // NaN where an element is no number
      const V nothing = scaled - scaled;
      return (kMap == MapKind::softmax ? nothing + splat<V>(1) : nothing) * alpha_;
    }
    if constexpr (kRaisesPowers<A>) {
      const V power = RaisedPower::of_scaled(scaled), sum = all_of_slot<kSlots>(power, std::plus<>());
      const Mask<A> mask = tame_(sum);
      const V raised = of_raised(scaled, power, select(mask, sum, splat<V>(1)));
      return are_all(mask) ? raised : select(mask, raised, around_maxima(scaled));
    } else {
      return around_maxima(scaled);
    }
  }

  [[gnu::always_inline]] V of_raised(V scaled, V power, V sum) const {
    if constexpr (kMap == MapKind::softmax) return power * (alpha_ / sum);
    const auto logarithm = TameSums::logarithm(sum);
    return at_most_zero(scaled - logarithm.shift - logarithm.rest) * alpha_;
  }

  [[gnu::always_inline]] V around_maxima(V scaled) const {
    const V max = all_of_slot<kSlots>(scaled, [](V a, V b) { return any_maximum(a, b); });
    const V power = power_below_one(scaled - max), sum = all_of_slot<kSlots>(power, std::plus<>());
    if constexpr (kMap == MapKind::softmax)
      return power * (alpha_ / sum);
    else
      return (scaled - max - log_of(sum)) * alpha_;
  }

  V scale_, alpha_;
  TameSums tame_;
};

/// Calls work(integral constant) for rows of so many elements, if they are softmaxes in slots; false if not.
template <class A, class Work>
bool with_slot_rows(int length, const Work& work) {
  bool is_done = false;
  unrolled<4>([&](auto i) {
    constexpr int kSlots = 1 << i;
    if constexpr (kSlots < kLanes<LanesOf<A>>)
      if (length == kSlots) work(std::integral_constant<int, kSlots>()), is_done = true;
  });
  return is_done;
}

/// Dense rows of `length` elements; false where they are none for slots. On a Zen 4 2^24 f32 in rows of 2, 4 and 8 take
/// 6.1, 7.0 and 8.4 ms; transposed 7.6, 16 and 10.6. Many rows share vectors (packed_softmax.h) unless they are f64.
template <class T, MapKind kMap>
bool softmax_in_slots(const T* x, T* y, Index rows, int length, const Arguments& step) {
  return with_slot_rows<NumberOf<T>>(length, [&](auto slots) {
    const SlotSoftmax<T, kMap, slots()> softmax(step.scale, step.alpha);
    step.past_caches ? softmax.stream(x, y, rows * length) : softmax.map(x, y, rows * length);
  });
}

}  // namespace ndfold::simd
