#include "lib/exec/cpu/executor.h"

#include <ndfold/device.h>

#include "lib/exec/cpu/levels.h"

#include <algorithm>
#include <string>

namespace ndfold::cpu {
namespace {

constexpr double kBytesWorthATask = 128 << 10;  // some 10 µs of work: several times what waking a thread costs
constexpr Index kTasksPerThread = 8;            // so that one slow core does not hold up the rest
constexpr Index kLeastTasksPerThread = 2;       // for the sake of long stretches of memory

std::byte* writable(const Pointers& pointers, const Buffer& buffer) {
  return buffer.place == Buffer::Place::output ? pointers.out : pointers.workspace + buffer.offset_bytes;
}

const std::byte* readable(const Pointers& pointers, const Buffer& buffer) {
  return buffer.place == Buffer::Place::input ? pointers.in : writable(pointers, buffer);
}

AxisList list(const std::vector<Axis>& axes) { return {axes.data(), static_cast<int>(axes.size())}; }

// Larger caches are a whole socket's, with others on it: of 480 MiB a copy got about 64 before it ran at memory's pace.
double bytes_that_caches_hold() {
  constexpr Index kShareOfSocket = 64 << 20;
  static const auto caches = static_cast<double>(std::min(DeviceFacts::host().shared_cache_bytes, kShareOfSocket));
  return caches;
}

// Decided for the machine at hand: it changes how fast results are written, never what. From half the last cache on,
// stores through it cost more: softmax [3072,1024] f32, 24 of 32 MiB, took 6.0 elements/ns, 8.6 past it.
bool moves_more_than_caches_hold(const Step& step) {
  return step.bytes_read + step.bytes_written > bytes_that_caches_hold() / 2;
}

// A cache larger than any few cores share is across the socket, and as slow as memory to one of them.
bool is_last_cache_far() {
  constexpr Index kMostOfFewCores = 96 << 20;
  static const bool is_far = DeviceFacts::host().shared_cache_bytes > kMostOfFewCores;
  return is_far;
}

// Stores wait for its lines one after the other: softmax of rows of 48 f32 of 2 to 16 MiB on a Xeon made 2.5
// elements/ns, 1.4 where its lines were in memory, 3.4 past it.
bool writes_more_than_near_cache_holds(const Step& step) {
  static const auto cache = static_cast<double>(DeviceFacts::host().cache_bytes);
  return is_last_cache_far() && step.bytes_written > cache / 2;  // as many were read
}

Arguments bind(const Step& step) {
  Arguments bound{.kept = list(step.kept), .reduced = list(step.reduced)};
  bound.map = step.kernel.map;
  bound.input = step.kernel.input;
  bound.output = step.kernel.output;
  bound.sink = step.kernel.sink;
  bound.residency = step.kernel.residency;
  bound.part = step.part;
  bound.parts = step.parts;
  bound.outputs_side_by_side = step.outputs_side_by_side;
  bound.panel = step.kernel.tuning.panel_bytes / static_cast<Index>(size_bytes(step.kernel.input));
  bound.repeat = step.repeat;
  bound.count = step.count;
  bound.ddof = step.ddof;
  bound.index_offset = step.index_offset;
  bound.scale = step.scale;
  bound.alpha = step.alpha;
  if (is_last_cache_far()) bound.waiting_bytes = DeviceFacts::host().cache_bytes / 4;  // rows they come from, too
  bound.past_caches = moves_more_than_caches_hold(step) || writes_more_than_near_cache_holds(step);
  bound.from_memory = step.bytes_read > bytes_that_caches_hold();
  return bound;
}

Program::Call call_of(const Step& step, const Catalog& catalog) {
  Program::Call call{.kernel = {}, .bound = bind(step), .in = step.in, .out = step.out, .values = step.values};
  call.kernel = catalog.find_kernel(step.kernel, call.bound);
  call.bound.of_tiles = call.kernel.of_tiles;
  if (step.kernel.source != SourceKind::states)
    call.in_bytes = step.in_offset * static_cast<Index>(size_bytes(step.kernel.input));
  if (step.kernel.sink != SinkKind::store_state)
    call.out_bytes = step.out_offset * static_cast<Index>(size_bytes(step.kernel.output));
  call.worth = std::min((step.bytes_read + step.bytes_written) / kBytesWorthATask,
                        static_cast<double>(call.kernel.blocks / call.kernel.together));
  return call;
}

struct Share {
  const Arguments& arguments;
  Run run;
  Index blocks, unit, tasks;  // tasks end where a unit of blocks does

  static void run_task(void* context, Index task) {
    const Share& share = *static_cast<const Share*>(context);
    const Index units = (share.blocks + share.unit - 1) / share.unit;
    const Index each = units / share.tasks, more = units % share.tasks;  // the first `more` take one more
    const auto boundary = [&](Index t) { return std::min((t * each + std::min(t, more)) * share.unit, share.blocks); };
    share.run(share.arguments, boundary(task), boundary(task + 1));
  }
};

// Blocks that no task parts: whole lanes, and a whole stretch of memory as far as there are enough.
Index unit_of(const Kernel& kernel, Index threads) {
  const Index wanted = kernel.blocks / (threads * kLeastTasksPerThread) / kernel.together * kernel.together;
  return std::clamp(wanted, kernel.together, std::max(kernel.together, kernel.stretch));
}

void run_blocks(const Program::Call& call, const Arguments& arguments, Workers* workers) {
  const Kernel& kernel = call.kernel;
  if (call.worth < 2) return kernel.run(arguments, 0, kernel.blocks);
  if (workers == nullptr) workers = &default_workers();
  const Index threads = workers->threads();
  if (threads == 1) return kernel.run(arguments, 0, kernel.blocks);
  const Index unit = unit_of(kernel, threads);
  const Index tasks =
      std::min({static_cast<Index>(call.worth), threads * kTasksPerThread, (kernel.blocks + unit - 1) / unit});
  Share share{arguments, kernel.run, kernel.blocks, unit, tasks};
  workers->run(tasks, Share::run_task, &share);
}

}  // namespace

Result<Program> prepare(const Schedule& schedule) {
  const Level* const level = chosen_level();
  if (level == nullptr) return refused_level();
  Program program;
  program.calls.reserve(schedule.steps.size());
  for (const Step& step : schedule.steps) {
    program.calls.push_back(call_of(step, level->catalog()));
    if (program.calls.back().kernel.run == nullptr)
      return Status(Code::internal, "the CPU catalog has no " + std::string(name(step.kernel.body)) + " kernel for " +
                                        std::string(name(step.kernel.fold)) + " in " +
                                        std::string(name(step.kernel.accumulate)));
  }
  return program;
}

void run(const Program& program, const Pointers& pointers, Workers* workers) {
  for (const Program::Call& call : program.calls) {
    Arguments arguments = call.bound;
    arguments.in = readable(pointers, call.in) + call.in_bytes;
    arguments.out = writable(pointers, call.out) + call.out_bytes;
    if (call.values.place != Buffer::Place::none) arguments.values = readable(pointers, call.values);
    run_blocks(call, arguments, workers);
  }
}

}  // namespace ndfold::cpu
