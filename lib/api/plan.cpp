#include <ndfold/plan.h>

#include "lib/api/no_exceptions.h"
#include "lib/api/plan_state.h"
#include "plans/explain.h"
#include "plans/validate.h"

#include <algorithm>
#include <cstdint>

namespace ndfold {
namespace {

bool are_same_layout(const ViewDesc& a, const ViewDesc& b) {
  if (a.dtype != b.dtype || a.sizes != b.sizes) return false;
  for (std::size_t i = 0; i < a.sizes.size(); ++i)
    if (a.sizes[i] > 1 && a.strides[i] != b.strides[i]) return false;
  return true;
}

struct Bytes {
  std::uintptr_t first, end;
};

Bytes touched(const void* data, const Extent& extent, DType type) {
  if (extent.high < extent.low) return {0, 0};
  const auto base = reinterpret_cast<std::uintptr_t>(data);
  const auto width = static_cast<std::uintptr_t>(size_bytes(type));
  return {base + static_cast<std::uintptr_t>(extent.low) * width,
          base + static_cast<std::uintptr_t>(extent.high + 1) * width};
}

// Conservative: between its first and its last byte a view may leave gaps that another one uses.
std::uintptr_t shared_bytes(const Bytes& a, const Bytes& b) {
  const auto first = std::max(a.first, b.first), end = std::min(a.end, b.end);
  return end > first ? end - first : 0;
}

// Sentences are made out of line, off the way of calls that are right.
[[gnu::noinline]] Status null_pointer(const char* argument) {
  return Status(Code::invalid_argument, std::string(argument) + " is null, but has elements");
}

std::string lies_at(const char* argument, const void* data, Index alignment) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  return std::string(argument) + " is at an address that is a multiple of " + std::to_string(address & -address) +
         " bytes, the plan needs " + std::to_string(alignment);
}

[[gnu::noinline]] Status misaligned(const char* argument, const void* data, Index alignment) {
  return Status(Code::invalid_argument, lies_at(argument, data, alignment));
}

bool is_aligned(const void* data, Index alignment) {  // to a power of two
  return (reinterpret_cast<std::uintptr_t>(data) & static_cast<std::uintptr_t>(alignment - 1)) == 0;
}

Status check_pointer(const void* data, const Extent& extent, Index alignment, const char* argument) {
  if (extent.high < extent.low) return {};
  if (data == nullptr) return null_pointer(argument);
  if (!is_aligned(data, alignment)) return misaligned(argument, data, alignment);
  return {};
}

[[gnu::noinline]] Status in_and_out_overlap(std::uintptr_t shared) {
  return Status(Code::overlap, "in and out share " + std::to_string(shared) +
                                   " bytes: only a softmax whose in and out are the same view may work in place");
}

Status check_overlap(const PlanState& state, const void* in, const void* out) {
  if (in == out && state.may_be_in_place) return {};
  const auto shared = shared_bytes(touched(in, state.in_extent, state.request.in.dtype),
                                   touched(out, state.out_extent, state.request.out.dtype));
  return shared == 0 ? Status() : in_and_out_overlap(shared);
}

Status check_workspace(const PlanState& state, const void* in, const void* out, const Workspace& workspace) {
  const auto needed = static_cast<std::size_t>(state.choice.schedule.workspace_bytes);
  if (workspace.data == nullptr || workspace.bytes < needed)
    return Status(Code::workspace_too_small, "workspace has " +
                                                 std::to_string(workspace.data == nullptr ? 0 : workspace.bytes) +
                                                 " bytes, the plan needs " + std::to_string(needed));
  const auto address = reinterpret_cast<std::uintptr_t>(workspace.data);
  const Bytes scratch = {address, address + needed};
  for (const auto& [view, argument] : {std::pair(touched(in, state.in_extent, state.request.in.dtype), "in"),
                                       std::pair(touched(out, state.out_extent, state.request.out.dtype), "out")})
    if (const auto shared = shared_bytes(view, scratch); shared > 0)
      return Status(Code::overlap,
                    "workspace and " + std::string(argument) + " share " + std::to_string(shared) + " bytes");
  if (!is_aligned(workspace.data, kWorkspaceAlignment))
    return Status(Code::workspace_too_small, lies_at("workspace", workspace.data, kWorkspaceAlignment));
  return {};
}

std::vector<Index> gather_offsets(const Problem& problem) {
  if (problem.inputs == 0) return {};
  std::vector<Index> offsets = {0};
  for (const auto* group : {&problem.as_given.kept, &problem.as_given.reduced})
    for (const Axis& axis : *group) {
      std::vector<Index> next;
      next.reserve(offsets.size() * static_cast<std::size_t>(axis.size));
      for (Index offset : offsets)
        for (Index i = 0; i < axis.size; ++i) next.push_back(offset + i * axis.in);
      offsets.swap(next);
    }
  return offsets;
}

// A refusal's sentence may need memory; nothing else here does.
Status checked_run(const PlanState& state, const void* in, void* out, const Workspace& workspace,
                   const Stream& stream) {
  if (!state.runnable.ok()) return state.runnable;
  if (state.problem.outputs == 0) return {};
  if (Status status = check_pointer(in, state.in_extent, state.problem.in_alignment_bytes, "in"); !status.ok())
    return status;
  if (Status status = check_pointer(out, state.out_extent, state.problem.out_alignment_bytes, "out"); !status.ok())
    return status;
  if (Status status = check_overlap(state, in, out); !status.ok()) return status;
  if (state.choice.schedule.workspace_bytes > 0)
    if (Status status = check_workspace(state, in, out, workspace); !status.ok()) return status;
  const auto* const from = static_cast<const std::byte*>(in);
  auto* const to = static_cast<std::byte*>(out);
  auto* const scratch = static_cast<std::byte*>(workspace.data);
  if (state.request.options.device.kind == DeviceKind::cuda)
    return cuda::run(state.program, {.in = from, .out = to, .workspace = scratch}, stream.handle);
  cpu::run(state.cpu_program, {.in = from, .out = to, .workspace = scratch}, stream.workers);
  return {};
}

// A GPU may hold fewer blocks at once than its facts promise: then the next best plan that does not count on them.
Result<Choice> choose_for_gpu(const Problem& problem, const PlanOptions& options, cuda::Program& program) {
  PlanOptions within = options;
  for (;;) {
    auto choice = choose(problem, within);
    if (!choice) return choice;
    cuda::Prepared prepared = cuda::prepare(choice->schedule, within.device.ordinal);
    if (prepared.status.ok()) {
      program = std::move(prepared.program);
      return choice;
    }
    const bool may_do_without = (prepared.too_many_blocks && within.device.cooperative) ||
                                (prepared.too_wide_clusters && within.device.cluster_blocks > 1);
    if (!may_do_without) return prepared.status;
    if (prepared.too_many_blocks)
      within.device.cooperative = false;
    else
      within.device.cluster_blocks /= 2;
  }
}

Result<Choice> choose_and_prepare(const Problem& problem, const PlanOptions& options, PlanState& state) {
  if (options.device.kind == DeviceKind::cuda) {
    state.runnable = cuda::check_device(options.device);
    if (state.runnable.code() == Code::internal) return state.runnable;  // it may be there next time: no plan to keep
    if (state.runnable.ok()) return choose_for_gpu(problem, options, state.program);
  }
  return choose(problem, options);
}

}  // namespace

Result<ReducePlan> make_plan(Request request) {
  auto problem = make_problem(request);
  if (!problem) return problem.error();
  auto state = std::make_shared<PlanState>();
  auto choice = choose_and_prepare(*problem, request.options, *state);
  if (!choice) return choice.error();
  state->in_extent = extent_of(request.in, "in").value();
  state->out_extent = extent_of(request.out, "out").value();
  state->may_be_in_place = request.kind == RequestKind::softmax && are_same_layout(request.in, request.out);
  state->request = std::move(request);
  state->problem = std::move(*problem);
  state->choice = std::move(*choice);
  if (state->request.options.device.kind == DeviceKind::cpu) {
    auto program = cpu::prepare(state->choice.schedule);
    state->runnable = program.error();
    if (program) state->cpu_program = *std::move(program);
  }
  return ReducePlan(std::move(state));
}

std::size_t footprint(const PlanState& state) {
  std::size_t bytes = sizeof state + state.cpu_program.calls.size() * sizeof(cpu::Program::Call) +
                      state.program.launches.size() * sizeof(cuda::Bound);
  for (const Step& step : state.choice.schedule.steps)
    bytes += sizeof step + (step.kept.size() + step.reduced.size()) * sizeof(Axis);
  for (const Candidate& candidate : state.choice.candidates) bytes += sizeof candidate + candidate.verdict.why.size();
  const std::size_t rank = state.request.in.sizes.size() + state.request.out.sizes.size();
  return bytes + rank * (2 * sizeof(Index) + 2 * sizeof(Axis));
}

Result<ReducePlan> ReducePlan::reduce(const ViewDesc& in, const ViewDesc& out, const ReduceSpec& spec,
                                      const PlanOptions& options) {
  return or_out_of_memory([&] { return make_plan(request_of(in, out, spec, options)); });
}

Result<ReducePlan> ReducePlan::softmax(const ViewDesc& in, const ViewDesc& out, const SoftmaxSpec& spec,
                                       const PlanOptions& options) {
  return or_out_of_memory([&] { return make_plan(request_of(in, out, spec, options)); });
}

Result<ReducePlan> ReducePlan::permute(const ViewDesc& in, const ViewDesc& out, const Order& order,
                                       const PlanOptions& options) {
  return or_out_of_memory([&] { return make_plan(request_of(in, out, order, options)); });
}

std::size_t ReducePlan::workspace_bytes() const {
  return static_cast<std::size_t>(state_->choice.schedule.workspace_bytes);
}

std::span<const Step> ReducePlan::steps() const { return state_->choice.schedule.steps; }

std::string_view ReducePlan::strategy() const { return state_->choice.strategy; }

std::string ReducePlan::explain() const {
  return or_empty([&] { return ndfold::explain(state_->request, state_->problem, state_->choice); });
}

std::string ReducePlan::explain_json() const {
  return or_empty([&] { return ndfold::explain_json(state_->request, state_->problem, state_->choice); });
}

std::vector<Index> ReducePlan::gather_index() const {
  return or_empty([&] { return gather_offsets(state_->problem); });
}

Status ReducePlan::run(const void* in, void* out, Workspace workspace, Stream stream) const {
  return or_out_of_memory([&] { return checked_run(*state_, in, out, workspace, stream); });
}

}  // namespace ndfold
