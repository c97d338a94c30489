// Summation trees are as low as promised and hold every leaf once: by folds that count heights and keep the leaves'
// order.
#include "kernels/cpu/tree.h"

#include "kernels/cpu/arguments.h"
#include "kernels/cpu/column_tree.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

namespace ndfold::simd {
namespace {

/// Which leaves a state holds, as an interval, and the longest path to one of them.
struct Span {
  Index begin, end, height;
  bool broken;  // two intervals that are not neighbours met
};

struct Heights {
  using Value = Index;
  using State = Span;
  bool in_order = true;
  State identity() const { return {0, 0, 0, false}; }
  State map(Index x, Index) const { return {x, x + 1, 0, false}; }
  State combine(State a, State b) const {
    if (a.begin == a.end) return b;
    if (b.begin == b.end) return a;
    const bool next = a.end == b.begin || (!in_order && b.end == a.begin);
    return {std::min(a.begin, b.begin), std::max(a.end, b.end), std::max(a.height, b.height) + 1,
            a.broken || b.broken || !next};
  }
};
static_assert(Fold<Heights>);

Index log2_up(Index n) { return static_cast<Index>(std::bit_width(static_cast<std::uint64_t>(n - 1))); }

TEST(tree, is_as_high_as_a_logarithm_and_keeps_order) {
  for (Index n = 1; n <= 2000; n += n < 300 ? 1 : 37) {
    Tree<Heights> tree{Heights()};
    for (Index i = 0; i < n; ++i) tree.push(Heights().map(i, 0));
    const Span all = tree.result();
    EXPECT_EQ(all.begin, 0);
    EXPECT_EQ(all.end, n);
    EXPECT_FALSE(all.broken);
    EXPECT_LE(all.height, log2_up(n) + 1) << n << " leaves";
    EXPECT_TRUE(!std::has_single_bit(static_cast<std::uint64_t>(n)) || all.height == log2_up(n));
  }
}

TEST(tree, of_nothing_is_the_identity) { EXPECT_EQ(Tree<Heights>{Heights()}.result().end, 0); }

TEST(tree, may_be_asked_along_the_way) {
  Tree<Heights> tree{Heights()};
  for (Index i = 0; i < 50; ++i) {
    tree.push(Heights().map(i, 0));
    EXPECT_EQ(tree.result().end, i + 1);
    EXPECT_FALSE(tree.result().broken);
  }
}

// The paths of docs/numerics.md: leaves of 32 rows, then 8 a level.
TEST(column_tree, keeps_every_state_and_is_low) {
  const Heights fold{.in_order = false};
  constexpr Index kGroups = 3;
  for (Index n = 1; n <= 5000; n += n < 600 ? 1 : 211) {
    const int levels = ColumnTree<Heights>::levels_for(n);
    std::vector<Span> memory(static_cast<std::size_t>(levels * kGroups + 1), Span{-7, -7, -7, true});
    ColumnTree<Heights> tree(fold, memory.data(), kGroups);
    for (Index i = 0; i < n; ++i) {
      const Span leaf[kGroups] = {fold.map(i, 0), fold.map(i + 10000, 0), fold.map(i + 20000, 0)};
      tree.push(leaf);
    }
    const Span* result = tree.result();
    for (Index g = 0; g < kGroups; ++g) {
      EXPECT_EQ(result[g].begin, 10000 * g);
      EXPECT_EQ(result[g].end, 10000 * g + n);
      EXPECT_FALSE(result[g].broken) << n << " leaves";
      EXPECT_LE(result[g].height + kLeafRows, kLeafRows + 8 * levels);
    }
    EXPECT_EQ(memory.back().begin, -7) << "it wrote beyond its memory of " << levels << " levels, at " << n
                                       << " leaves";
  }
}

TEST(column_tree, levels_reach_any_number_of_leaves) {
  Index reach = 8;
  for (int levels = 2; levels <= 20; ++levels, reach *= 8) {  // 8^20 leaves of 32 rows are more than 2^63 rows
    EXPECT_EQ(ColumnTree<Heights>::levels_for(reach), levels);
    EXPECT_EQ(ColumnTree<Heights>::levels_for(reach + 1), levels + 1);
  }
  EXPECT_LE(ColumnTree<Heights>::levels_for(std::numeric_limits<Index>::max() / kLeafRows), 24);
}

}  // namespace
}  // namespace ndfold::simd
