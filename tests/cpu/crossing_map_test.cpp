// A map whose results lie across its elements: every result where it belongs, by its own state, and nothing beside it.
#include "kernels/cpu/crossing_map.h"

#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace ndfold::test {
namespace {

// Which of the two near axes, and of a third that is far on both sides, are kept.
struct Roles {
  bool along, across, far;
};

// Sizes of the axis that is near in the input, of that near in the output, and of the far one; elements that lines of
// either side are apart, beyond what they hold.
struct Case {
  Index along, across, far, gap;
  Roles kept;
  MapKind map;
  bool past_caches;
};

double number_at(Index i) { return static_cast<double>(hash(static_cast<std::uint64_t>(i)) % 900) / 100 - 6; }
float max_of(Index state) { return static_cast<float>(state % 7) / 2; }
float sum_of(Index state) { return 1 + static_cast<float>(state % 5); }

template <class T>
class Mapped {
  using A = simd::NumberOf<T>;

 public:
  explicit Mapped(const Case& item) : item_(item) {
    in_pitch_ = item.along + item.gap, out_pitch_ = item.across + item.gap;
    const Index in_far = in_pitch_ * item.across, out_far = out_pitch_ * item.along;
    const std::array<Axis, 3> axes = {Axis{.size = item.far, .in = in_far, .out = out_far},
                                      Axis{.size = item.across, .in = in_pitch_, .out = 1},
                                      Axis{.size = item.along, .in = 1, .out = out_pitch_}};
    const std::array<bool, 3> kept = {item.kept.far, item.kept.across, item.kept.along};
    for (std::size_t i = 0; i < axes.size(); ++i) (kept[i] ? kept_ : reduced_).push_back(axes[i]);
    in_.assign(static_cast<std::size_t>(in_far * item.far), T(-1.f));
    for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = T(static_cast<float>(number_at(static_cast<Index>(i))));
    Index states = 1;
    for (const Axis& axis : kept_) states *= axis.size;
    for (Index i = 0; i < states; ++i) states_.push_back({static_cast<A>(max_of(i)), static_cast<A>(sum_of(i))});
    untouched_.assign(static_cast<std::size_t>(out_far * item.far + 64), T(-77.f));
  }

  /// By tasks of so many blocks.
  std::vector<T> run(Index task) const {
    std::vector<T> out = untouched_;
    cpu::Arguments step{.kept = list(kept_), .reduced = list(reduced_)};
    step.in = reinterpret_cast<const std::byte*>(in_.data());
    step.out = reinterpret_cast<std::byte*>(out.data());
    step.values = reinterpret_cast<const std::byte*>(states_.data());
    step.input = step.output = simd::kTypeOf<T>;
    step.map = item_.map, step.scale = 0.5, step.alpha = 3, step.past_caches = item_.past_caches;
    EXPECT_TRUE(simd::maps_across<A>(step));
    const Index blocks = simd::CrossingTiles(step).blocks();
    for (Index first = 0; first < blocks; first += task)
      simd::map_across<A>(step, first, std::min(first + task, blocks));
    return out;
  }

  void expect(const std::vector<T>& got) const {
    std::vector<bool> is_result(got.size());
    const double error = sizeof(T) == 2 ? 0x1p-8 : 1e-6;
    const double size = item_.map == MapKind::softmax ? 1e-3 : 3;  // of what logarithms are differences of
    for (Index f = 0; f < item_.far; ++f)
      for (Index q = 0; q < item_.across; ++q)
        for (Index p = 0; p < item_.along; ++p) {
          const auto from = static_cast<std::size_t>((f * item_.across + q) * in_pitch_ + p);
          const auto to = static_cast<std::size_t>((f * item_.along + p) * out_pitch_ + q);
          const double want = result(static_cast<float>(in_[from]), state(f, q, p));
          ASSERT_NEAR(static_cast<double>(static_cast<float>(got[to])), want, error * (std::abs(want) + size))
              << item_.along << "x" << item_.across << "x" << item_.far << " at " << p << ", " << q << ", " << f;
          is_result[to] = true;
        }
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_TRUE(is_result[i] || static_cast<float>(got[i]) == -77) << "beside the results, at " << i;
  }

 private:
  Index state(Index f, Index q, Index p) const {
    Index at = 0;
    if (item_.kept.far) at = f;
    if (item_.kept.across) at = at * item_.across + q;
    if (item_.kept.along) at = at * item_.along + p;
    return at;
  }
  double result(double x, Index at) const {
    const double distance = 0.5 * x - static_cast<double>(max_of(at)), sum = static_cast<double>(sum_of(at));
    if (item_.map == MapKind::softmax) return std::min(3 * std::exp(distance) / sum, 3.0);
    return 3 * std::min(distance - std::log(sum), 0.0);
  }

  Case item_;
  Index in_pitch_, out_pitch_;
  std::vector<Axis> kept_, reduced_;
  std::vector<T> in_, untouched_;
  std::vector<folds::MaxAndSum<A>> states_;
};

template <class T>
void expect_results(const Case& item) {
  const Mapped<T> mapped(item);
  const std::vector<T> all = mapped.run(1 << 20);
  mapped.expect(all);
  const std::vector<T> by_tasks = mapped.run(3);
  for (std::size_t i = 0; i < all.size(); ++i)
    ASSERT_EQ(static_cast<float>(all[i]), static_cast<float>(by_tasks[i])) << "by tasks, at " << i;
}

template <class T>
void expect_all_roles(Index along, Index across, Index far, Index gap) {
  for (const Roles kept : {Roles{false, false, true}, Roles{true, false, false}, Roles{false, true, false},
                           Roles{true, false, true}, Roles{true, true, false}, Roles{true, true, true}}) {
    const bool are_long = std::min(along, across) >= 4 && !(kept.along && kept.across);
    if (!are_long && along * across < 64) continue;  // makes no tiles
    for (const MapKind map : {MapKind::softmax, MapKind::log_softmax})
      for (const bool past_caches : {false, true}) expect_results<T>({along, across, far, gap, kept, map, past_caches});
  }
}

template <class T>
void expect_all_sizes() {
  for (const Index along : {2, 3, 9, 15, 16, 17, 64, 100, 193})
    for (const Index across : {2, 3, 7, 16, 29, 33}) {
      expect_all_roles<T>(along, across, 3, 0);
      expect_all_roles<T>(along, across, 2, 3);
    }
  expect_all_roles<T>(700, 300, 1, 0);  // tiles of both
  expect_all_roles<T>(9, 3001, 2, 1);
  expect_all_roles<T>(3001, 9, 2, 16);
}

TEST(crossing_map, results_of_f32) { expect_all_sizes<float>(); }
TEST(crossing_map, results_of_f64) { expect_all_sizes<double>(); }

TEST(crossing_map, results_of_16_bits) {
  if constexpr (simd::kHasElementLanes<simd::Half>) {
    expect_all_sizes<simd::Half>();
    expect_all_sizes<simd::Bfloat16>();
  }
}

TEST(crossing_map, takes_what_crosses_alone) {
  const std::vector<Axis> rows = {{.size = 40, .in = 30, .out = 30}, {.size = 30, .in = 1, .out = 1}};
  const std::vector<Axis> across = {{.size = 40, .in = 30, .out = 1}, {.size = 30, .in = 1, .out = 40}};
  const std::vector<Axis> few = {{.size = 20, .in = 3, .out = 1}, {.size = 3, .in = 1, .out = 20}};
  const std::vector<Axis> few_kept = {{.size = 7, .in = 9, .out = 1}, {.size = 9, .in = 1, .out = 7}};
  const auto takes = [](const std::vector<Axis>& kept, const std::vector<Axis>& reduced, MapKind map) {
    cpu::Arguments step{.kept = list(kept), .reduced = list(reduced)};
    step.map = map;
    return simd::maps_across<float>(step);
  };
  EXPECT_TRUE(takes({}, across, MapKind::softmax));
  EXPECT_TRUE(takes({across[0]}, {across[1]}, MapKind::log_softmax));
  EXPECT_TRUE(takes(across, {}, MapKind::softmax));
  EXPECT_FALSE(takes({}, rows, MapKind::softmax)) << "results lie as elements do";
  EXPECT_FALSE(takes({}, few, MapKind::softmax)) << "too few for a tile";
  EXPECT_TRUE(takes({}, few_kept, MapKind::softmax));
  EXPECT_FALSE(takes(few_kept, {}, MapKind::softmax)) << "as many states as elements, and few of them";
  EXPECT_FALSE(takes({}, across, MapKind::exponential));
}

}  // namespace
}  // namespace ndfold::test
