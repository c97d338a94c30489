// The C functions that bench/gpu.py calls through ctypes: plan a case for a GPU, queue it, free it; and loops of calls
// that are timed here, where Python's own time does not count.
#include "bench/request.h"
#include "bench/tell.h"

#include <chrono>

namespace {

using namespace ndfold;
using bench::tell;

struct Planned {
  ReducePlan plan;
  std::string explained;
};

/// Nanoseconds a call, or -1 when one failed and `why` says so.
template <class Call>
double time_calls(int calls, const Call& call, char* why, std::size_t room) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i)
    if (const Status status = call(); !status.ok()) return tell(status.message(), why, room), -1;
  const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - begin;
  return passed.count() / calls;
}

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

[[gnu::visibility("default")]] int ndfold_bench_gpu_launches(const void* plan) {
  return static_cast<int>(static_cast<const Planned*>(plan)->plan.steps().size());
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

/// The host's time of a run; nothing waits for the stream.
[[gnu::visibility("default")]] double ndfold_bench_gpu_run_ns(const void* plan, const void* in, void* out,
                                                              void* workspace, std::size_t bytes, void* stream,
                                                              int calls, char* why, std::size_t room) {
  const ReducePlan& queued = static_cast<const Planned*>(plan)->plan;
  return time_calls(
      calls, [&] { return queued.run(in, out, {.data = workspace, .bytes = bytes}, {.handle = stream}); }, why, room);
}

/// The same of a free function whose plan is in the cache from the second call on.
[[gnu::visibility("default")]] double ndfold_bench_gpu_call_ns(const NdfoldBenchCase* c, int ordinal, void* stream,
                                                               int calls, char* why, std::size_t room) {
  std::string reason;
  const auto request = bench::request_of(*c, reason);
  if (!request) return tell(reason, why, room), -1;
  const Device device{.kind = DeviceKind::cuda, .ordinal = ordinal};
  const ConstTensorView in(c->in, request->in, device);
  const TensorView out{c->out, request->out, device};
  const Stream queue{.handle = stream};
  if (const auto* reduction = std::get_if<ReduceSpec>(&request->spec))
    return time_calls(
        calls, [&] { return reduce(in, out, *reduction, queue); }, why, room);
  const auto& spec = std::get<SoftmaxSpec>(request->spec);
  return time_calls(
      calls, [&] { return softmax(in, out, spec, queue); }, why, room);
}

}  // extern "C"
