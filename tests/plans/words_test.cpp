#include "plans/words.h"

#include <gtest/gtest.h>

#include <limits>

namespace ndfold {
namespace {

TEST(Words, NumbersReadWell) {
  EXPECT_EQ(text_of_number(0), "0");
  EXPECT_EQ(text_of_number(4.12), "4.12");
  EXPECT_EQ(text_of_number(4.1), "4.1");
  EXPECT_EQ(text_of_number(41.26), "41.3");
  EXPECT_EQ(text_of_number(8192), "8192");
  EXPECT_EQ(text_of_number(100), "100");
  EXPECT_EQ(text_of_bytes(0), "0 B");
  EXPECT_EQ(text_of_bytes(65536), "64 KiB");
  EXPECT_EQ(text_of_traffic(1.0737e9), "1.07 GB");
  EXPECT_EQ(text_of_time(262.4), "262 µs");
  EXPECT_EQ(text_of_time(1.9e4), "19 ms");
  EXPECT_EQ(text_of_time(2e7), "20 s");
  EXPECT_EQ(text_of_speed(1.07e9, 262), "4.08 TB/s");
  EXPECT_EQ(text_of_speed(0, 0), "0 MB/s");
}

TEST(Words, NumbersThatAreNoneReadToo) {
  EXPECT_EQ(text_of_number(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(text_of_number(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(text_of_number(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(text_of_number(-0.5), "-0.5");
  EXPECT_EQ(text_of_number(std::numeric_limits<double>::max()).size(), 309u);
}

TEST(Words, AxesSayAllAndNone) {
  EXPECT_EQ(text_of_axes(AxisSet::all()), "all axes");
  EXPECT_EQ(text_of_axes({}), "no axes");
  EXPECT_EQ(text_of_axes({1, -1}), "axes {1,-1}");
}

}  // namespace
}  // namespace ndfold
