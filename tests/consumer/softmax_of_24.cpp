// A program of somebody else's: softmax over axes {0, 2} of a (2, 3, 4) array, and one number checked.
#include <ndfold/plan.h>

#include <cmath>
#include <cstdio>
#include <vector>

int main() {
  std::vector<float> x(24), y(24);
  for (int i = 0; i < 24; ++i) x[static_cast<std::size_t>(i)] = 0.25f * static_cast<float>(i);
  const ndfold::ViewDesc desc = ndfold::dense(ndfold::DType::f32, {2, 3, 4});

  const auto plan = ndfold::ReducePlan::softmax(desc, desc, {.axes = {0, 2}});
  if (!plan) return std::printf("plan: %s\n", plan.error().message().c_str()), 1;
  std::vector<float> scratch((plan->workspace_bytes() + 64) / sizeof(float) + 16);
  const auto unaligned = reinterpret_cast<std::uintptr_t>(scratch.data());
  const ndfold::Workspace workspace = {reinterpret_cast<void*>((unaligned + 63) / 64 * 64), plan->workspace_bytes()};
  if (const auto status = plan->run(x.data(), y.data(), workspace); !status)
    return std::printf("run: %s\n", status.message().c_str()), 1;

  // Element (1, 0, 3) shares its sum with those of the middle index 0: offsets 0 1 2 3 12 13 14 15.
  double sum = 0;
  for (const int offset : {0, 1, 2, 3, 12, 13, 14, 15}) sum += std::exp(0.25 * (offset - 15));
  std::printf("%.9g, expected %.9g\n", static_cast<double>(y[15]), 1 / sum);
  return std::abs(y[15] * sum - 1) < 1e-6 ? 0 : 1;
}
