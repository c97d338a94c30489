// A plan made once and run twice, on a view that walks memory backwards in steps of two: nothing is copied.
#include <ndfold/ndfold.h>

#include <array>
#include <cstdio>
#include <vector>

using namespace ndfold;

int main() {
  // Rows of 6 numbers; the view sees columns 5, 3 and 1 of each. Its element (0, 0) lies at offset 5.
  const ViewDesc view = {.dtype = DType::i32, .sizes = {4, 3}, .strides = {6, -2}};
  const ReduceSpec spec = {.op = ReduceOp::argmax, .axes = {1}};
  const auto out = output_desc(view, spec);  // 4 indices in i64
  if (!out) return std::printf("refused: %s\n", out.error().message().c_str()), 1;
  const auto plan = ReducePlan::reduce(view, *out, spec);
  if (!plan) return std::printf("refused: %s\n", plan.error().message().c_str()), 1;

  struct alignas(64) Line {
    std::array<std::byte, 64> bytes;
  };
  std::vector<Line> scratch(plan->workspace_bytes() / sizeof(Line) + 1);  // often 0 bytes are asked for
  const Workspace workspace = {.data = scratch.data(), .bytes = scratch.size() * sizeof(Line)};

  for (const int best_column : {1, 5}) {
    std::vector<std::int32_t> numbers(24, 0);
    for (std::size_t row = 0; row < 4; ++row) numbers[6 * row + static_cast<std::size_t>(best_column)] = 9;
    std::array<std::int64_t, 4> where = {};
    if (const auto status = plan->run(numbers.data() + 5, where.data(), workspace); !status)
      return std::printf("refused: %s\n", status.message().c_str()), 1;
    std::printf("column %d is element %lld of the view\n", best_column, static_cast<long long>(where[0]));
    for (const auto index : where)
      if (index != (5 - best_column) / 2) return 1;
  }
}
