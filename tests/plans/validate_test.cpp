#include "plans/validate.h"

#include "plans/problem.h"

#include <gtest/gtest.h>

#include <limits>

namespace ndfold {
namespace {

constexpr Index kHuge = std::numeric_limits<Index>::max();

ViewDesc view(std::vector<Index> sizes, std::vector<Index> strides, DType type = DType::f32) {
  return {.dtype = type, .sizes = std::move(sizes), .strides = std::move(strides)};
}

TEST(Validate, TakesWhatIsLegal) {
  EXPECT_TRUE(check_view(view({}, {}), "in").ok());
  EXPECT_TRUE(check_view(view({2, 3}, {-3, 1}), "in").ok());
  EXPECT_TRUE(check_view(view({2, 3}, {0, 0}), "in").ok());
  EXPECT_TRUE(check_view(view({1, 3}, {kHuge, 1}), "in").ok());
  EXPECT_TRUE(check_view(view({kHuge, kHuge, 0}, {kHuge, kHuge, kHuge}), "in").ok());
}

struct Refused {
  ViewDesc view;
  Code code;
  std::string sentence;
};

TEST(Validate, RefusesWithTheArgumentAndBothValues) {
  auto misaligned = view({4}, {1});
  misaligned.alignment_bytes = 12;
  const Refused rows[] = {
      {view({2, 3}, {1}), Code::invalid_argument, "in has 2 sizes but 1 strides"},
      {view({2, -3}, {1, 1}), Code::invalid_argument, "in has size -3 along axis 1"},
      {view({2}, {1}, DType::best), Code::invalid_argument, "in has element type best, which is not a type of data"},
      {view({2}, {1}, static_cast<DType>(99)), Code::invalid_argument,
       "in has element type unknown, which is not a type of data"},
      {misaligned, Code::invalid_argument, "in claims an alignment of 12 bytes, which is not a power of two"},
      {view({kHuge / 2, 4}, {4, 1}), Code::overflow, "in of sizes [4611686018427387903, 4] has more than 2^63 bytes"},
      {view({3}, {kHuge / 2}), Code::overflow,
       "in of sizes [3] and strides [4611686018427387903] reaches beyond 2^63 bytes"},
  };
  for (const Refused& row : rows) {
    const Status status = check_view(row.view, "in");
    EXPECT_EQ(status.code(), row.code) << row.sentence;
    EXPECT_EQ(status.message(), row.sentence);
  }
}

TEST(Validate, CountsElementsBesideAnEmptyAxis) {
  EXPECT_EQ(element_count(view({2, 3}, {3, 1})), 6);
  EXPECT_EQ(element_count(view({}, {})), 1);
  EXPECT_EQ(element_count(view({kHuge, kHuge, 0}, {1, 1, 1})), 0);
}

TEST(Validate, KnowsWhereAViewReaches) {
  EXPECT_EQ(*extent_of(view({3, 4}, {-4, 1}), "in"), (Extent{-8, 3}));
  EXPECT_EQ(*extent_of(view({1, 4}, {1000, 2}), "in"), (Extent{0, 6}));
  EXPECT_EQ(*extent_of(view({0, 4}, {1, 1}), "in"), Extent{});
}

TEST(Validate, RefusesOutputsThatMeetThemselves) {
  EXPECT_TRUE(check_writes_are_distinct(view({3, 4}, {4, 1})).ok());
  EXPECT_TRUE(check_writes_are_distinct(view({3, 4}, {-1, 3})).ok());
  EXPECT_TRUE(check_writes_are_distinct(view({1, 4}, {0, 1})).ok());
  EXPECT_TRUE(check_writes_are_distinct(view({0, 4}, {0, 0})).ok());
  EXPECT_TRUE(check_writes_are_distinct(view({2, 2}, {3, 2})).ok()) << "0 2 3 5: interleaved, yet distinct";
  EXPECT_EQ(check_writes_are_distinct(view({3, 4}, {0, 1})).code(), Code::overlap);
  EXPECT_EQ(check_writes_are_distinct(view({3, 4}, {2, 1})).message(),
            "out of sizes [3, 4] and strides [2, 1] may write two elements to one address");
}

TEST(Validate, ComparesSizesWithTheResult) {
  EXPECT_TRUE(check_sizes(view({2, 3}, {3, 1}), {2, 3}).ok());
  EXPECT_EQ(check_sizes(view({2, 3, 1}, {3, 1, 1}), {2, 3}).message(), "out has 3 axes, the result has 2");
  EXPECT_EQ(check_sizes(view({2}, {1}), {2, 3}).message(), "out has 1 axis, the result has 2");
  EXPECT_EQ(check_sizes(view({2, 4}, {4, 1}), {2, 3}).message(), "out has size 4 along axis 1, the result has 3");
}

}  // namespace
}  // namespace ndfold
