// The C functions that bench/gpu.py calls through ctypes: plan a case for a GPU, queue it, free it.
#include "bench/request.h"
#include "bench/tell.h"

namespace {

using namespace ndfold;
using bench::tell;

struct Planned {
  ReducePlan plan;
  std::string explained;
};

}  // namespace

extern "C" {

/// A plan for GPU `ordinal`, or null and a sentence in `why`. `strategy` may be empty.
[[gnu::visibility("default")]] void* ndfold_bench_gpu_plan(const NdfoldBenchCase* c, int ordinal, const char* strategy,
                                                           char* why, std::size_t room) {
  std::string reason;
  const auto request = bench::request_of(*c, reason);
  auto facts = DeviceFacts::cuda(ordinal);
  if (!facts) reason = facts.error().message();
  if (request && facts) {
    if (auto plan = request->plan({.device = *facts, .strategy = strategy})) {
      auto made = std::make_unique<Planned>(Planned{*std::move(plan), {}});
      made->explained = made->plan.explain();
      return made.release();
    } else {
      reason = plan.error().message();
    }
  }
  tell(reason, why, room);
  return nullptr;
}
[[gnu::visibility("default")]] void ndfold_bench_gpu_free(void* plan) { delete static_cast<Planned*>(plan); }

[[gnu::visibility("default")]] std::size_t ndfold_bench_gpu_workspace(const void* plan) {
  return static_cast<const Planned*>(plan)->plan.workspace_bytes();
}
[[gnu::visibility("default")]] const char* ndfold_bench_gpu_explain(const void* plan) {
  return static_cast<const Planned*>(plan)->explained.c_str();
}
[[gnu::visibility("default")]] void ndfold_bench_gpu_strategy(const void* plan, char* to, std::size_t room) {
  tell(std::string(static_cast<const Planned*>(plan)->plan.strategy()), to, room);
}

/// Queues one run; 0, or 1 and a sentence in `why`.
[[gnu::visibility("default")]] int ndfold_bench_gpu_run(const void* plan, const void* in, void* out, void* workspace,
                                                        std::size_t bytes, void* stream, char* why, std::size_t room) {
  const Status status =
      static_cast<const Planned*>(plan)->plan.run(in, out, {.data = workspace, .bytes = bytes}, {.handle = stream});
  if (status.ok()) return 0;
  tell(status.message(), why, room);
  return 1;
}

}  // extern "C"
