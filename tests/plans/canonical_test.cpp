// The law of the canonical layout, by brute force: every output still folds the same elements.
#include "plans/canonical.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

namespace ndfold {
namespace {

// What one element does: it comes from an input offset, and carries an index (argmax) or goes to an offset (softmax).
using Visit = std::pair<Index, Index>;
// Of each output: its visits, sorted.
using Meaning = std::map<Index, std::vector<Visit>>;

struct Totals {
  Index in = 0, kept_out = 0, reduced_out = 0;
};

template <class Visitor>
void walk(const std::vector<RoleAxis>& axes, std::size_t depth, Totals totals, const Visitor& visit) {
  if (depth == axes.size()) return visit(totals);
  const auto& [axis, reduced] = axes[depth];
  for (Index i = 0; i < axis.size; ++i) {
    Totals next = totals;
    next.in += i * axis.in;
    (reduced ? next.reduced_out : next.kept_out) += i * axis.out;
    walk(axes, depth + 1, next, visit);
  }
}

std::vector<RoleAxis> with_roles(const Canonical& axes) {
  std::vector<RoleAxis> list;
  for (const Axis& axis : axes.kept) list.push_back({axis, false});
  for (const Axis& axis : axes.reduced) list.push_back({axis, true});
  return list;
}

Meaning meaning(const std::vector<RoleAxis>& axes, ReducedOut role, const Canonical& offsets = {}) {
  Meaning result;
  walk(axes, 0, {}, [&](const Totals& at) {
    const Index out = offsets.out_offset + at.kept_out;
    const Index in = offsets.in_offset + at.in;
    const Index carried = role == ReducedOut::unused    ? 0
                          : role == ReducedOut::written ? out + at.reduced_out
                                                        : offsets.index_offset + at.reduced_out;
    for (Index i = 0; i < offsets.repeat; ++i) result[out].push_back({in, carried});
  });
  for (auto& entry : result) std::sort(entry.second.begin(), entry.second.end());
  return result;
}

// Of a softmax, whose visits say where they write: flips of its reduced axes move an output's key, not its visits.
std::vector<std::vector<Visit>> groups(const Meaning& all) {
  std::vector<std::vector<Visit>> list;
  for (const auto& entry : all) list.push_back(entry.second);
  std::sort(list.begin(), list.end());
  return list;
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  Index between(Index low, Index high) { return std::uniform_int_distribution<Index>(low, high)(engine_); }
  bool chance(int percent) { return between(1, 100) <= percent; }
  std::mt19937& engine() { return engine_; }

 private:
  std::mt19937 engine_;
};

// Dense axes in a random order, then spoiled: padded, reversed, repeated, overlapping.
std::vector<RoleAxis> random_axes(Random& random, ReducedOut role) {
  const std::size_t rank = static_cast<std::size_t>(random.between(0, 6));
  std::vector<RoleAxis> axes(rank);
  for (auto& a : axes) {
    a.axis.size = random.chance(20) ? 1 : random.between(2, rank > 4 ? 3 : 5);
    a.reduced = random.chance(50);
  }
  std::vector<std::size_t> order(rank);
  for (std::size_t i = 0; i < rank; ++i) order[i] = i;
  if (random.chance(60)) std::shuffle(order.begin(), order.end(), random.engine());
  Index in = 1, out = 1, weight = 1;
  for (std::size_t i = rank; i-- > 0;) {
    RoleAxis& a = axes[order[i]];
    a.axis.in = in;
    in *= a.axis.size + (random.chance(15) ? random.between(1, 3) : 0);
    if (random.chance(15)) a.axis.in = -a.axis.in;
    if (random.chance(12)) a.axis.in = 0;
    if (random.chance(8)) a.axis.in = random.between(-3, 3);  // sliding windows, and worse
  }
  for (std::size_t i = rank; i-- > 0;) {
    Axis& axis = axes[i].axis;
    if (axes[i].reduced && role != ReducedOut::written) {
      axis.out = role == ReducedOut::index_weight ? weight : 0;
      weight *= axis.size;
      continue;
    }
    axis.out = out;
    out *= axis.size + (random.chance(15) ? random.between(1, 3) : 0);
    if (random.chance(15)) axis.out = -axis.out;
  }
  for (auto& a : axes)
    if (a.axis.size == 1 && random.chance(50)) a.axis.in = random.between(-1000, 1000);
  return axes;
}

std::string text(const std::vector<RoleAxis>& axes) {
  std::string all;
  for (const auto& [axis, reduced] : axes)
    all += std::string(reduced ? "R" : "K") + std::to_string(axis.size) + "(" + std::to_string(axis.in) + "," +
           std::to_string(axis.out) + ") ";
  return all;
}

// argmax keeps the first of equal elements: along a repeated axis that is index 0 of it.
std::vector<RoleAxis> without_repeats(std::vector<RoleAxis> axes) {
  for (auto& [axis, reduced] : axes)
    if (reduced && axis.in == 0) axis.size = 1;
  return axes;
}

void expect_same_meaning(const std::vector<RoleAxis>& axes, ReducedOut role) {
  const Canonical result = canonicalize(axes, role);
  const auto rebuilt = with_roles(result);
  if (role == ReducedOut::index_weight) {
    Canonical once = result;
    once.repeat = 1;
    ASSERT_EQ(meaning(without_repeats(axes), role), meaning(rebuilt, role, once)) << text(axes);
  } else if (role == ReducedOut::unused) {
    ASSERT_EQ(meaning(axes, role), meaning(rebuilt, role, result)) << text(axes);
  } else {
    ASSERT_EQ(groups(meaning(axes, role)), groups(meaning(rebuilt, role, result))) << text(axes);
  }
}

TEST(Canonical, FoldsTheSameElementsAsTheCallersAxes) {
  constexpr int kProblems = 20000;
  Random random(20261120);
  constexpr ReducedOut kRoles[] = {ReducedOut::unused, ReducedOut::index_weight, ReducedOut::written};
  for (int i = 0; i < kProblems; ++i) {
    const ReducedOut role = kRoles[i % 3];
    expect_same_meaning(random_axes(random, role), role);
    if (HasFatalFailure()) return;
  }
}

TEST(Canonical, IsSortedJoinedAndFreeOfSizeOne) {
  Random random(7);
  for (int i = 0; i < 5000; ++i) {
    const auto axes = random_axes(random, ReducedOut::unused);
    const Canonical result = canonicalize(axes, ReducedOut::unused);
    for (const auto* group : {&result.kept, &result.reduced}) {
      for (std::size_t k = 0; k < group->size(); ++k) {
        ASSERT_GT((*group)[k].size, 1) << text(axes);
        ASSERT_GE((*group)[k].in, 0) << text(axes);
        if (k == 0) continue;
        const Axis &outer = (*group)[k - 1], &inner = (*group)[k];
        ASSERT_TRUE(outer.in == 0 || (inner.in != 0 && outer.in >= inner.in)) << text(axes);
        ASSERT_FALSE(outer.in == inner.size * inner.in && outer.out == inner.size * inner.out) << text(axes);
      }
    }
    for (const Axis& axis : result.reduced) ASSERT_NE(axis.in, 0) << text(axes);
  }
}

TEST(Canonical, JoinsWhatIsContiguousOnBothSides) {
  const Canonical joined =
      canonicalize({{{2, 12, 12}, false}, {{3, 4, 4}, false}, {{4, 1, 1}, false}}, ReducedOut::unused);
  EXPECT_EQ(joined.kept, (std::vector<Axis>{{24, 1, 1}}));
  const Canonical apart =
      canonicalize({{{2, 12, 4}, false}, {{3, 4, 8}, false}, {{4, 1, 1}, false}}, ReducedOut::unused);
  EXPECT_EQ(apart.kept.size(), 3u);
}

TEST(Canonical, FlipsWhatRunsBackwards) {
  const Canonical sum = canonicalize({{{5, -1, 0}, true}}, ReducedOut::unused);
  EXPECT_EQ(sum.reduced, (std::vector<Axis>{{5, 1, 0}}));
  EXPECT_EQ(sum.in_offset, -4);
  const Canonical argmax = canonicalize({{{5, -1, 1}, true}}, ReducedOut::index_weight);
  EXPECT_EQ(argmax.reduced, (std::vector<Axis>{{5, 1, -1}}));
  EXPECT_EQ(argmax.index_offset, 4);
  EXPECT_EQ(argmax.out_offset, 0);
}

TEST(Canonical, CountsRepeatsRatherThanReadingThem) {
  const Canonical sum = canonicalize({{{7, 0, 0}, true}, {{4, 1, 0}, true}, {{3, 0, 1}, false}}, ReducedOut::unused);
  EXPECT_EQ(sum.repeat, 7);
  EXPECT_EQ(sum.reduced, (std::vector<Axis>{{4, 1, 0}}));
  EXPECT_EQ(sum.kept, (std::vector<Axis>{{3, 0, 1}}));
  EXPECT_EQ(canonicalize({{{7, 0, 1}, true}}, ReducedOut::written).reduced, (std::vector<Axis>{{7, 0, 1}}));
}

TEST(Canonical, TakesHundredsOfAxes) {
  constexpr std::size_t kRank = 200;
  std::vector<RoleAxis> axes;
  for (std::size_t i = 0; i < kRank; ++i) axes.push_back({{.size = 1, .in = 12345, .out = -7}, i % 2 == 0});
  axes[3] = {{.size = 6, .in = 4, .out = 1}, false};
  axes[150] = {{.size = 4, .in = 1, .out = 0}, true};
  const Canonical result = canonicalize(axes, ReducedOut::unused);
  EXPECT_EQ(result.kept, (std::vector<Axis>{{6, 4, 1}}));
  EXPECT_EQ(result.reduced, (std::vector<Axis>{{4, 1, 0}}));

  std::vector<RoleAxis> dense;
  Index stride = 1;
  for (int i = 0; i < 62; ++i, stride *= 2)
    dense.insert(dense.begin(), {{.size = 2, .in = stride, .out = stride}, false});
  EXPECT_EQ(canonicalize(dense, ReducedOut::unused).kept, (std::vector<Axis>{{Index{1} << 62, 1, 1}}));
}

TEST(Canonical, LiteralKeepsTheCallersOrder) {
  const Canonical given = literal({{{2, 1, 3}, true}, {{1, 9, 9}, true}, {{3, -2, 1}, false}, {{4, 0, 6}, true}});
  EXPECT_EQ(given.kept, (std::vector<Axis>{{3, -2, 1}}));
  EXPECT_EQ(given.reduced, (std::vector<Axis>{{2, 1, 3}, {4, 0, 6}}));
}

}  // namespace
}  // namespace ndfold
