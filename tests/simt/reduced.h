// Reductions of rows that begin anywhere, most of them down the first axis, or the second of three.
#pragma once
#include "tests/simt/forced.h"

namespace simt {

inline void reduce_along(const AxisSet& axes, ReduceOp op, DType type, const Sizes& sizes, std::string_view strategy,
                         Index shift, Tally& tally, int threads = 1024, Layout layout = Layout::row_major) {
  SCOPED_TRACE(::testing::Message() << name(op) << ' ' << name(type) << ' ' << ::testing::PrintToString(sizes) << ' '
                                    << strategy << ' ' << shift << ' ' << name(layout));
  const DType output = default_output(op, type);
  Array in(lay_out(type, sizes, layout, 5), shift);
  Array out(lay_out(output, output_sizes(sizes, axes), Layout::row_major, 1), shift / 2);
  fill(in, op == ReduceOp::argmax ? Values::ties : Values::mixed);
  DeviceFacts device = small(DeviceFacts::h200(), 2);
  device.threads_per_block = threads;
  run_forced(ReduceSpec{.op = op, .axes = axes}, in, out, device, std::string(strategy), tally);
}

inline void reduce(ReduceOp op, DType type, const Sizes& sizes, std::string_view strategy, Index shift, Tally& tally,
                   int threads = 1024, Layout layout = Layout::row_major) {
  reduce_along({sizes.size() == 2 ? 0 : 1}, op, type, sizes, strategy, shift, tally, threads, layout);
}

}  // namespace simt
