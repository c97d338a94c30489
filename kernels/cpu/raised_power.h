// Powers of a softmax around 0 instead of around a row's maximum: whether they are right is seen from their sum, so
// that nobody has to look for a maximum first. Rows whose sums tell otherwise are looked at again.
#pragma once
#include "kernels/cpu/lanes.h"
#include "kernels/folds/online_softmax.h"

namespace ndfold::simd {

/// Eigen's logarithm gives all bits to what is no number; this leaves it as it was, for rounding adds to bits.
template <class V>
[[gnu::always_inline]] inline V log_of(V x) {
  return select(equal(x, x), V{packet::plog(x.value)}, x);
}

/// What stays of some elements until their results are made: nothing, themselves, or their powers.
enum class Kept { nothing, elements, powers };

/// Numbers whose powers can be raised.
template <class A>
inline constexpr bool kRaisesPowers = std::is_same_v<A, float>;

/// exp(scale · x) · 2^32; of what is no number, or far above 60, something that no tame sum holds.
class RaisedPower {
  using V = Lanes<float>;
  static constexpr int kRaise = 32;

 public:
  explicit RaisedPower(V scale) : scale_(scale) {}
  [[gnu::always_inline]] V operator()(V x) const { return of_scaled(x * scale_); }

#if defined(__AVX512F__) && defined(__AVX512DQ__)

  // As power_below_one, in 32nds: n, a multiple of them, leaves its last five bits to the table of roots, and the rest
  // to an instruction that knows overflow; below -200 is nothing, and whatever is no number stays so. So near 0 a
  // square is enough, if its slope is a little more than 1.
  [[gnu::always_inline]] static V of_scaled(V x) {
    constexpr float kRoundTo32nds = 393216.f;  // 1.5 · 2^18
    alignas(64) static constexpr float kRoots[32] = {
        0x1p32f,        0x1.059b0ep32f, 0x1.0b5586p32f, 0x1.11301ep32f, 0x1.172b84p32f, 0x1.1d4874p32f, 0x1.2387a6p32f,
        0x1.29e9e0p32f, 0x1.306fe0p32f, 0x1.371a74p32f, 0x1.3dea64p32f, 0x1.44e086p32f, 0x1.4bfdaep32f, 0x1.5342b6p32f,
        0x1.5ab07ep32f, 0x1.6247ecp32f, 0x1.6a09e6p32f, 0x1.71f75ep32f, 0x1.7a1148p32f, 0x1.82589ap32f, 0x1.8ace54p32f,
        0x1.93737cp32f, 0x1.9c4918p32f, 0x1.a5503cp32f, 0x1.ae89fap32f, 0x1.b7f770p32f, 0x1.c199bep32f, 0x1.cb720ep32f,
        0x1.d5818ep32f, 0x1.dfc974p32f, 0x1.ea4afap32f, 0x1.f50766p32f};
    const V y = {_mm512_max_ps(splat<V>(-200).value, x.value)};  // the second, where it is no number
    const V shifted = multiply_add(y, splat<V>(1.44269504f), splat<V>(kRoundTo32nds));
    const V n = shifted - splat<V>(kRoundTo32nds);
    const V r = multiply_add(n, splat<V>(-0.693147181f), y);
    const __m512i bits = _mm512_castps_si512(shifted.value);
    const V root = {_mm512_permutex2var_ps(_mm512_load_ps(kRoots), bits, _mm512_load_ps(kRoots + 16))};
    const V rest = r * multiply_add(r, splat<V>(0.5f), splat<V>(1.00001466f));
    return {_mm512_scalef_ps(multiply_add(root, rest, root).value, n.value)};
  }

#elif defined(__AVX2__)

  // As power_below_one, with a cubic: 65 and above make a sum that is not tame, below -109 would be no normal number.
  [[gnu::always_inline]] static V of_scaled(V x) {
    const V y = {_mm256_min_ps(splat<V>(65).value, x.value)};  // the second, where it is no number
    const V shifted = multiply_add(y, splat<V>(8 * 1.44269504f), splat<V>(kRound));
    const V r = multiply_add(shifted - splat<V>(kRound), splat<V>(-0.693147181f / 8), y);
    const V power = power_of_eighths<kRaise>(shifted);
    const V rest = multiply_add(r * r, multiply_add(r, splat<V>(0.16666667f), splat<V>(0.50006478f)), r);
    return without(less(x, splat<V>(-109)), multiply_add(power, rest, power));
  }

#else

  // As power_below_one: what is too large for a scale is cut off there, and makes a sum that is not tame.
  [[gnu::always_inline]] static V of_scaled(V y) {
    using Integers = typename packet::unpacket_traits<V::Packet>::integer_packet;
    const V at = multiply_add(y, splat<V>(1.44269504f), splat<V>(kRound));
    const V shifted = select(less(splat<V>(kRound + 94), at), splat<V>(kRound + 94), at);
    const V n = shifted - splat<V>(kRound);
    const V r = multiply_add(n, splat<V>(2.12194440e-4f), multiply_add(n, splat<V>(-0.693359375f), y));
    V p = splat<V>(1.9875691500e-4f);
    for (const float c : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f})
      p = multiply_add(p, r, splat<V>(c));
    const V power = multiply_add(p * r, r, r + splat<V>(1));
    const auto whole = packet::psub(packet::preinterpret<Integers>(shifted.value),
                                    packet::pset1<Integers>(std::bit_cast<std::int32_t>(kRound) - 127 - kRaise));
    const V factor = {packet::preinterpret<V::Packet>(packet::plogical_shift_left<23>(whole))};
    return without(less(shifted, splat<V>(kRound - 126 - kRaise + 1)), power * factor);
  }

#endif

 private:
  V scale_;
};

/// Σ of them. Numbers are sums that are there already.
template <class V>
struct RaisedSum : Sum<V> {
  V scale = splat<V>(1);
  V map(V x, Index) const requires IsLanes<V> { return RaisedPower::of_scaled(x * scale); }
};

/// The same where scale is 1: a product fewer of the seven that an exponential has.
struct UnscaledRaisedPower {
  [[gnu::always_inline]] Lanes<float> operator()(Lanes<float> x) const { return RaisedPower::of_scaled(x); }
};

/// work(the raised power of so scaled elements).
template <class Work>
[[gnu::always_inline]] inline auto with_raised_power(float scale, const Work& work) {
  return scale == 1 ? work(UnscaledRaisedPower()) : work(RaisedPower(splat<Lanes<float>>(scale)));
}

template <class A>
bool are_all(Mask<A> mask) {
  return bits_of(mask) == (1u << kLanes<Lanes<A>>)-1;
}

/// Which sums of raised powers need no maximum, of a softmax that multiplies with alpha: below, powers that count would
/// be lost; above, they would overflow.
class TameSums {
  using V = Lanes<float>;

 public:
  /// Of so many elements: one is its own maximum, and its logarithm exactly what it is.
  TameSums(double alpha, Index elements) : TameSums(elements > 1 ? alpha : 0x1p-20) {}
  explicit TameSums(double alpha) : most_(splat<V>(std::abs(alpha) >= 0x1p-8 || alpha == 0 ? 0x1p118f : 0.f)) {}

  [[gnu::always_inline]] Mask<float> operator()(V sum) const {
    return both(less(splat<V>(0x1p0f), sum), less(sum, most_));
  }

  /// Where a sum around a maximum leaves it open, or sure, that the raised one is tame.
  [[gnu::always_inline]] Mask<float> may_hold(V max, V sum) const {
    const V log = max + V{packet::plog(sum.value)};
    const Mask<float> within = both(less(splat<V>(-22.5f), log), less(log, splat<V>(60.f)));
    return both(within, less(splat<V>(0), most_));
  }

  /// log Σ exp = shift + rest, shift a multiple of some bits, so that scale · x - shift loses none.
  struct Logarithm {
    V shift, rest;
  };
  [[gnu::always_inline]] static Logarithm logarithm(V sum) {
    const Parts parts = parted(sum, 0x3f3504f3);  // the root of 1/2
    return {parts.whole * splat<V>(kLogTwo),
            multiply_add(parts.whole, splat<V>(kRestOfLogTwo), log_near_one(parts.mantissa))};
  }

  /// {shift, Σ exp(x - shift)}, what others merge with sums around maxima. The sum is 2 to 4: around more than the
  /// logarithm powers would become 0 that count.
  [[gnu::always_inline]] static MaxAndSum<V> state(V sum) {
    const Parts parts = parted(sum, 0x40000000);
    const V d = parts.whole * splat<V>(kRestOfLogTwo);
    const V more = multiply_add(d * d, multiply_add(d, splat<V>(1.f / 6), splat<V>(0.5f)), d);
    return {parts.whole * splat<V>(kLogTwo), multiply_add(parts.mantissa, more, parts.mantissa)};
  }

 private:
  static constexpr float kLogTwo = 0.693359375f, kRestOfLogTwo = -2.12194440e-4f;

  // sum · 2^-32 = mantissa · 2^whole, the mantissa from that with the bits `least` on, up to twice as much.
  struct Parts {
    V whole, mantissa;
  };
  [[gnu::always_inline]] static Parts parted(V sum, std::int32_t least) {
    using Integers = typename packet::unpacket_traits<V::Packet>::integer_packet;
    const auto bits = packet::preinterpret<Integers>(sum.value);
    const auto k = packet::parithmetic_shift_right<23>(packet::psub(bits, packet::pset1<Integers>(least)));
    const V mantissa = {packet::preinterpret<V::Packet>(packet::psub(bits, packet::plogical_shift_left<23>(k)))};
    return {V{packet::pcast<Integers, V::Packet>(k)} - splat<V>(32), mantissa};
  }

  // Cephes' polynomial, in three chains. Eigen's logarithm has the same, behind all that a tame sum is not.
  [[gnu::always_inline]] static V log_near_one(V x) {
    const V z = x - splat<V>(1), square = z * z, cube = square * z;
    const auto chain = [&](float a, float b, float c) {
      return multiply_add(multiply_add(splat<V>(a), z, splat<V>(b)), z, splat<V>(c));
    };
    const V first = chain(7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f);
    const V second = chain(-1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f);
    const V third = chain(2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f);
    const V all = multiply_add(multiply_add(first, cube, second), cube, third);
    return multiply_add(all, cube, multiply_add(square, splat<V>(-0.5f), z));
  }

  V most_;
};

}  // namespace ndfold::simd
