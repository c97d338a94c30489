// Pairs of 16-bit numbers: extremes and first places are those of the numbers one by one, NaN and both zeros among
// them.
#include "kernels/cuda/pairs.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

namespace ndfold::cuda {
namespace {

constexpr int kPacks = 3, kSize = 8;

template <class T>
struct View {
  using Element = T;
  static constexpr int kCount = kPacks * kSize, kGroup = kSize;
  std::array<T, kCount> elements;
  int packs = kPacks;

  auto pairs(int group) const {
    Pack<std::uint32_t, kSize / 2> words;
    for (int p = 0; p < kSize / 2; ++p) {
      const std::uint32_t low = elements[std::size_t(group + 2 * p)].bits,
                          high = elements[std::size_t(group + 2 * p + 1)].bits;
      words.at[p] = low | high << 16;
    }
    return words;
  }
  bool has(int i) const { return i / kSize < packs; }
  float number(int i) const { return to_float(elements[std::size_t(i)]); }
};

template <class T>
View<T> random_view(std::mt19937& random) {
  const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1.0f, -2.0f, 0x1p-24f};
  View<T> view;
  const unsigned kinds = 1 + random() % 8;  // a few values, so that they meet
  for (T& element : view.elements) element = to_element<T>(special[(random() % kinds + kinds) % 8]);
  return view;
}

bool are_same(float a, float b) { return (a != a && b != b) || (a == b && std::signbit(a) == std::signbit(b)); }

template <class F, class T>
void expect_extremes(const View<T>& view) {
  for (int group = 0; group < View<T>::kCount; group += kSize) {
    float expected = view.number(group);
    for (int i = 1; i < kSize; ++i) expected = F().combine(expected, view.number(group + i));
    EXPECT_TRUE(are_same(extreme_of_group<F>(view, group), expected)) << expected;
  }
}

template <class T>
int first_of_all(const View<T>& view, float wanted) {
  int first = 0;
  while (view.number(first) != wanted) ++first;
  return first;
}

template <class T>
void expect_places(View<T> view) {
  for (view.packs = 1; view.packs <= kPacks; ++view.packs)
    for (int i = 0; i < View<T>::kCount; ++i) {
      const float wanted = view.number(i);
      if (wanted != wanted) continue;
      const int first = first_of_all(view, wanted);
      const int place = first_place<false>(view, wanted);
      EXPECT_TRUE(first < view.packs * kSize ? place == first : place >= View<T>::kCount) << wanted << ' ' << place;
      EXPECT_EQ(first_place<true>(view, wanted), first) << wanted;
    }
}

template <class T>
void expect_all() {
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    const auto view = random_view<T>(random);
    expect_extremes<folds::Max<float>>(view);
    expect_extremes<folds::Min<float>>(view);
    expect_places(view);
  }
}

TEST(pairs, of_bf16_are_as_one_by_one) { expect_all<BFloat16>(); }
TEST(pairs, of_f16_are_as_one_by_one) { expect_all<Half>(); }

}  // namespace
}  // namespace ndfold::cuda
