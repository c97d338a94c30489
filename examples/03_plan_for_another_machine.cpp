// What would run on a GPU that is not here: plans are plain data, so they can be made and read anywhere.
#include <ndfold/ndfold.h>

#include <cstdio>

using namespace ndfold;

int main() {
  const ViewDesc scores = dense(DType::f16, {64, 512, 4096});
  for (const DeviceFacts& device : {DeviceFacts::host(), DeviceFacts::h200(), DeviceFacts::a100()}) {
    PlanOptions options;
    options.device = device;
    const auto plan = ReducePlan::softmax(scores, scores, {.axes = {1}}, options);
    if (!plan) return std::printf("refused: %s\n", plan.error().message().c_str()), 1;
    std::printf("--- %s: %zu step(s), %zu bytes of workspace\n%s\n", device.name.c_str(), plan->steps().size(),
                plan->workspace_bytes(), plan->explain().c_str());
    if (plan->steps().empty()) return 1;
  }
}
