// The problems whose plans are kept in golden/: the regimes that users meet, and the odd corners.
#pragma once
#include "tests/plans/problems.h"

#include <ostream>

namespace ndfold::test {

struct GoldenProblem {
  std::string name;
  Request request;  // its device is set later
};

/// What GoogleTest calls it.
inline void PrintTo(const GoldenProblem& problem, std::ostream* stream) { *stream << problem.name; }

inline ViewDesc with_strides(ViewDesc view, Dims strides) {
  view.strides = std::move(strides);
  return view;
}

inline Request named(SoftmaxKind kind, Request request) {
  request.softmax.kind = kind;
  request.softmax.scale = 0.5;
  request.softmax.alpha = 2;
  return request;
}

inline Request with_output(Request request, DType type) {
  request.out.dtype = type;
  return request;
}

inline Request compensated(Request request) {
  request.reduce.compensated = true;
  return request;
}

inline Request with_limit(Request request, Index limit) {
  request.options.block_limit = limit;
  return request;
}

struct Case {
  const char* name;
  Dims sizes;
  AxisSet axes;
};

// Shapes at which other libraries were measured.
inline std::vector<Case> softmax_cases() {
  return {{"rows64", {1048576, 64}, {1}},
          {"rows1k", {65536, 1024}, {1}},
          {"rows4k", {16384, 4096}, {1}},
          {"rows4k_many", {65536, 4096}, {1}},
          {"rows32k", {4096, 32768}, {1}},
          {"vocabulary", {2048, 50257}, {1}},
          {"rows1m", {64, 1048576}, {1}},
          {"giant", {1, 16777216}, {1}},
          {"columns16k", {16384, 4096}, {0}},
          {"columns_odd1000", {1000, 65001}, {0}},
          {"patches577", {256, 577, 225}, {1}},
          {"columns64k", {65536, 4096}, {0}},
          {"middle512", {64, 512, 4096}, {1}},
          {"axes02", {128, 256, 2048}, {0, 2}},
          {"axes13", {16, 64, 32, 2048}, {1, 3}},
          {"nhwc_spatial", {32, 64, 64, 512}, {1, 2}},
          {"nchw_spatial", {64, 256, 64, 64}, {2, 3}},
          {"axes135", {16, 32, 16, 32, 16, 32}, {1, 3, 5}},
          {"attention", {4, 32, 1024, 1024}, {3}},
          {"small", {256, 256}, {1}},
          {"tiny", {8, 16}, {1}}};
}

inline std::vector<Case> sum_cases() {
  return {{"all_2_28", {268435456}, {0}},
          {"all_2_20", {1048576}, {0}},
          {"inner16k", {16384, 16384}, {1}},
          {"outer16k", {16384, 16384}, {0}},
          {"inner64", {4194304, 64}, {1}},
          {"outer64", {4194304, 64}, {0}},
          {"few_long", {8, 33554432}, {1}},
          {"middle512", {64, 512, 8192}, {1}},
          {"axes02", {128, 256, 8192}, {0, 2}},
          {"batch_norm_nhwc", {64, 64, 64, 1024}, {0, 1, 2}},
          {"batch_norm_nchw", {64, 1024, 64, 64}, {0, 2, 3}},
          {"axes135", {32, 32, 16, 32, 16, 32}, {1, 3, 5}},
          {"small", {256, 256}, {1}}};
}

inline std::vector<GoldenProblem> odd_problems() {
  const auto f32 = [](Dims sizes) { return dense(DType::f32, std::move(sizes)); };
  return {
      {"softmax_bf16_vocabulary", softmax_of(dense(DType::bf16, {2048, 50257}), {1})},
      {"softmax_f16_rows_of_7", softmax_of(dense(DType::f16, {100000, 7}), {1})},
      {"softmax_f64_columns", softmax_of(dense(DType::f64, {300, 1000}), {0})},
      {"softmax_transposed", softmax_of(with_strides(f32({4096, 4096}), {1, 4096}), {1})},
      {"softmax_of_turned_images", softmax_of(with_strides(f32({3000, 64, 64}), {4096, 1, 64}), {1, 2})},
      {"softmax_reversed", softmax_of(with_strides(f32({512, 1024}), {1024, -1}), {1})},
      {"softmax_sliding_window", softmax_of(with_strides(f32({10000, 128}), {1, 1}), {1})},
      {"softmax_of_repeated_elements", softmax_of(with_strides(f32({64, 512}), {1, 0}), {1})},
      {"softmax_few_rows", softmax_of(f32({8, 1 << 20}), {0})},
      {"softmax_uneven_rows", softmax_of(f32({32, 4194305}), {0})},
      {"softmax_bf16_two_axes", softmax_of(dense(DType::bf16, {16, 256, 8, 512}), {0, 2})},
      {"softmax_narrow_columns", softmax_of(f32({1000, 2000, 3}), {1})},
      {"softmax_over_nothing", softmax_of(f32({64, 64}), AxisSet::none())},
      {"softmax_empty", softmax_of(f32({64, 0}), {1})},
      {"softmax_row_beyond_2_31", softmax_of(f32({1, Index{3} << 30}), {1})},
      {"log_softmax_f16_to_f32",
       named(SoftmaxKind::log_softmax, with_output(softmax_of(dense(DType::f16, {4096, 1000}), {1}), DType::f32))},
      {"softmax_chain_forced", forced(softmax_of(f32({2, 3, 4}), {0, 2}), "softmax_chain")},
      {"sum_in_steps_of_4", with_limit(forced(sum_of({2, 3, 4}, {0, 2}), "permute_then_rows"), 4)},
      {"sum_of_a_broadcast", reduce_of(ReduceOp::sum, with_strides(f32({1000, 64}), {0, 1}), {0})},
      {"sum_of_nothing", sum_of({5, 0}, {1})},
      {"sum_small_columns", sum_of({4096, 64}, {0})},
      {"sum_small_row", sum_of({65536}, {0})},
      {"sum_compensated", compensated(sum_of({4, 1000000}, {1}))},
      {"sum_strided_rows", reduce_of(ReduceOp::sum, with_strides(f32({1000, 1000}), {2000, 2}), {1})},
      {"sum_u8_to_u64", reduce_of(ReduceOp::sum, dense(DType::u8, {1080, 1920, 3}), {0, 1})},
      {"mean_f16", reduce_of(ReduceOp::mean, dense(DType::f16, {512, 512, 64}), {0, 1})},
      {"var_f32_columns", reduce_of(ReduceOp::var, f32({100000, 32}), {0})},
      {"argmax_rows", reduce_of(ReduceOp::argmax, f32({4096, 32000}), {1})},
      {"argmax_of_two_axes", reduce_of(ReduceOp::argmax, f32({16, 64, 32, 48}), {1, 3})},
      {"any_bool", reduce_of(ReduceOp::any, dense(DType::boolean, {1000, 1000}), AxisSet::all())},
      {"logsumexp_middle", reduce_of(ReduceOp::logsumexp, f32({32, 4096, 256}), {1})},
      {"max_of_permuted_6d",
       reduce_of(ReduceOp::max, with_strides(f32({4, 5, 6, 7, 8, 9}), {1, 4, 20, 120, 840, 6720}), {0, 2, 4})},
      {"permute_transpose", permute_of(f32({4096, 8192}), {1, 0})},
      {"permute_nchw_to_nhwc", permute_of(dense(DType::f16, {64, 256, 56, 56}), {0, 2, 3, 1})},
      {"sum_over_nothing_of_a_transpose",
       reduce_of(ReduceOp::sum, with_strides(f32({300, 200}), {1, 300}), AxisSet::none())},
      {"scalar", sum_of({}, AxisSet::all())},
  };
}

inline std::vector<GoldenProblem> golden_problems() {
  std::vector<GoldenProblem> list;
  for (const Case& row : softmax_cases())
    list.push_back({"softmax_" + std::string(row.name), softmax_of(row.sizes, row.axes)});
  for (const Case& row : sum_cases()) list.push_back({"sum_" + std::string(row.name), sum_of(row.sizes, row.axes)});
  for (GoldenProblem& problem : odd_problems()) list.push_back(std::move(problem));
  return list;
}

}  // namespace ndfold::test
