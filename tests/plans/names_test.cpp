// The names of what a step is made of.
#include <ndfold/step.h>

#include <gtest/gtest.h>

#include <set>

namespace ndfold {
namespace {

template <class Enum>
void expect_distinct(Enum last) {
  std::set<std::string_view> names;
  const int count = static_cast<int>(last) + 1;
  for (int i = 0; i < count; ++i) names.insert(name(static_cast<Enum>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(names.count("unknown"), 0u);
  EXPECT_EQ(name(static_cast<Enum>(count)), "unknown");
}

TEST(Names, EveryEnumeratorHasItsOwn) {
  expect_distinct(Body::permute);
  expect_distinct(FoldKind::softmax);
  expect_distinct(MapKind::log_softmax);
  expect_distinct(SourceKind::states);
  expect_distinct(SinkKind::log_softmax);
  expect_distinct(Scope::grid);
  expect_distinct(Residency::scratch);
}

TEST(Names, AreInTheOrderOfTheirEnumerators) {
  EXPECT_EQ(name(Body::columns), "columns");
  EXPECT_EQ(name(FoldKind::std_dev), "std");
  EXPECT_EQ(name(FoldKind::argmax), "argmax");
  EXPECT_EQ(name(FoldKind::logsumexp), "logsumexp");
  EXPECT_EQ(name(MapKind::divide), "divide");
  EXPECT_EQ(name(SourceKind::states), "states");
  EXPECT_EQ(name(SinkKind::store_state), "store_state");
  EXPECT_EQ(name(Scope::cluster), "cluster");
  EXPECT_EQ(name(Residency::shared), "shared");
}

}  // namespace
}  // namespace ndfold
