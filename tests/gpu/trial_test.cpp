// A trial fails when a byte of its output, of what lies around it, or of its input is wrong.
#include "tests/gpu/trial.h"

#include "tests/gpu/host_machine.h"

#include <gtest/gtest-spi.h>

namespace ndfold::test {
namespace {

std::string failures_of(const Trial& trial, const Spoil& spoil) {
  ::testing::TestPartResultArray results;
  {
    using Reporter = ::testing::ScopedFakeTestPartResultReporter;
    const Reporter reporter(Reporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    spoil_downloads(spoil);
    expect_right({trial});
    spoil_downloads({});
  }
  std::string text;
  for (int i = 0; i < results.size(); ++i) text += results.GetTestPartResult(i).message();
  return text;
}

Trial permute_of(Layout layout) {
  return {.name = "permute",
          .request = Order{{1, 0}},
          .in = lay_out(DType::u8, {30, 41}, layout, 3),
          .out = lay_out(DType::u8, {41, 30}, layout, 4),
          .values = Values::bits};
}

Trial softmax_in(DType type) {
  return {
      .name = "softmax", .request = SoftmaxSpec{.axes = {1}}, .in = dense(type, {5, 20}), .out = dense(type, {5, 20})};
}

TEST(trial, is_right_when_nothing_is_spoilt) {
  EXPECT_EQ(failures_of(permute_of(Layout::stepped), {}), "");
  EXPECT_EQ(failures_of(softmax_in(DType::f32), {}), "");
}

// There is no workspace here, in which anything may change.
TEST(trial, notices_every_byte) {
  for (const Layout layout : {Layout::row_major, Layout::stepped}) {
    std::size_t at = 0;
    while (failures_of(permute_of(layout), {.at = at, .mask = 0x20}) != "") at += 61;
    EXPECT_GT(at, 2u * 30 * 41 + 4 * kMarginBytes) << "the first byte that nobody missed, and there are more";
  }
}

TEST(trial, notices_in_place) {
  Trial trial = softmax_in(DType::f64);
  trial.in_place = true;
  EXPECT_EQ(failures_of(trial, {}), "");
  EXPECT_NE(failures_of(trial, {.at = 10, .mask = 1}), "");
  EXPECT_NE(failures_of(trial, {.at = kMarginBytes + 7, .mask = 0x10}), "");
}

// The lowest bit is within every bound; only the comparison of bits sees it.
TEST(trial, notices_bits_that_differ_from_run_to_run) {
  const Trial trial = softmax_in(DType::f64);
  const std::size_t out = (2 * kMarginBytes + 5 * 20 * 8 + 255) / 256 * 256 + kMarginBytes;
  EXPECT_EQ(failures_of(trial, {.at = out, .mask = 1}), "") << "alike in every run";
  for (const int which : {3, 5})  // the last replay, and the eager run with its data
    EXPECT_NE(failures_of(trial, {.at = out, .mask = 1, .which = which}).find("its bits are not"), std::string::npos);
}

TEST(trial, notices_another_result_than_the_witness) {
  Trial trial = softmax_in(DType::f32);
  trial.witness = "softmax_chain";
  trial.replays = 0;
  EXPECT_EQ(failures_of(trial, {}), "");
  const std::size_t out = (2 * kMarginBytes + 5 * 20 * 4 + 255) / 256 * 256 + kMarginBytes;
  EXPECT_NE(failures_of(trial, {.at = out + 3, .mask = 1, .which = 3}).find("the witness has"), std::string::npos);
}

TEST(trial, that_is_refused_does_not_count) {
  Trial trial = softmax_in(DType::f32);
  trial.strategy = "rows_in_grid";
  const Tally tally = expect_right({trial});
  EXPECT_EQ(tally.run, 0);
  EXPECT_EQ(tally.refused, 1);
  trial.strategy = "no such thing";
  EXPECT_NE(failures_of(trial, {}).find("is not in the table"), std::string::npos);
  trial.strategy = "";
  trial.out = dense(DType::f32, {5, 21});
  EXPECT_NE(failures_of(trial, {}).find("planning"), std::string::npos);
}

}  // namespace
}  // namespace ndfold::test
