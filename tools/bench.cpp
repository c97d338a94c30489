// The verb bench.
#include "lib/io/npy_header.h"
#include "tools/compute.h"
#include "tools/progress.h"
#include "tools/random.h"
#include "tools/timing.h"
#include "tools/verbs.h"

#include <algorithm>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>

namespace ndfold::cli {
namespace {

struct Request {
  Work work;
  std::vector<Index> shape;
  DType dtype = DType::f32;
  int threads = 0;
  Repeats repeats;
  bool json = false;
};

// One part for each worker, cut where cache lines end: the copy has the same threads as the plan.
struct Copy {
  std::byte* to;
  const std::byte* from;
  std::size_t bytes, part;

  static void run_part(void* copy, Index index) {
    const auto& whole = *static_cast<const Copy*>(copy);
    const auto begin = std::min(whole.bytes, static_cast<std::size_t>(index) * whole.part);
    std::memcpy(whole.to + begin, whole.from + begin, std::min(whole.part, whole.bytes - begin));
  }
};

Copy copy_in_parts(io::HostBytes& to, const io::HostBytes& from, int parts) {
  constexpr std::size_t kLine = 64;
  const auto bytes = from.span().size();
  const auto lines = (bytes + kLine - 1) / kLine;
  const auto count = static_cast<std::size_t>(parts);
  return {.to = to.data(), .from = from.data(), .bytes = bytes, .part = (lines + count - 1) / count * kLine};
}

// Random input, and as many bytes to copy it to: written once, so that the copy is not charged for fresh pages.
struct Data {
  io::HostBytes in, copy;
};

Result<Data> make_data(const ViewDesc& in) {
  const auto bytes = io::array_bytes(in.dtype, in.sizes);
  if (!bytes) return bytes.error();
  if (*bytes == 0) return Status(Code::invalid_argument, "--shape has no elements: there is nothing to time");
  auto source = io::HostBytes::allocate(*bytes);
  if (!source) return source.error();
  auto copy = io::HostBytes::allocate(*bytes);
  if (!copy) return copy.error();
  fill_random(in.dtype, source->data(), source->span().size() / size_bytes(in.dtype));
  std::memset(copy->data(), 1, copy->span().size());
  return Data{.in = *std::move(source), .copy = *std::move(copy)};
}

std::string title_of(const ReducePlan& plan, int threads) {
  const auto text = plan.explain();
  return text.substr(0, text.find('\n')) + "   " + std::string(plan.strategy()) + ", " + std::to_string(threads) +
         (threads == 1 ? " thread" : " threads");
}

Status bench(const Request& request) {
  auto in = dense(request.dtype, request.shape);
  in.alignment_bytes = io::HostBytes::kAlignment;
  const auto planned = make_plan(request.work, in);
  if (!planned) return planned.error();
  const auto& plan = planned->plan;
  std::optional<Progress> progress(std::in_place, "bench");
  auto data = make_data(in);
  if (!data) return data.error();
  auto memory = allocate(*planned);
  if (!memory) return memory.error();
  const ChosenWorkers chosen(request.threads);
  auto& workers = chosen.get();

  const auto run = [&] {
    return plan.run(data->in.data(), memory->out.data(), memory->workspace(), {.workers = &workers});
  };
  if (auto status = run(); !status.ok()) return status;  // the only run whose answer can be told
  auto copy = copy_in_parts(data->copy, data->in, workers.threads());
  const auto copied = 2 * data->in.span().size(), moved = data->in.span().size() + memory->out.span().size();
  const std::vector<Timed> rows = {
      {.name = "plan", .run = [&] { (void)run(); }, .bytes = moved},
      {.name = "memcpy", .run = [&] { workers.run(workers.threads(), Copy::run_part, &copy); }, .bytes = copied}};
  if (request.json) {
    progress.reset();
    print_timing_json(rows, request.repeats);
    return {};
  }
  const auto table = timing_table(rows, request.repeats);
  progress.reset();
  std::cout << title_of(plan, workers.threads()) << '\n' << table;
  return {};
}

}  // namespace

Action add_bench(CLI::App& verb) {
  auto request = std::make_shared<Request>();
  auto& work = request->work;
  add_op(verb, work, true)->required();
  add_list(verb, "--shape", request->shape, "Sizes of the input's axes, outermost first")->required();
  add_work_axes(verb, work);
  add_order(verb, work);
  add_dtype(verb, "--dtype", request->dtype, "The type of the input; default f32");
  add_dtype(verb, "--out-dtype", work.output, "The type of the output; default: what the operation gives");
  add_softmax_options(verb, work);
  add_reduce_options(verb, work);
  add_strategy(verb, work);
  add_threads(verb, request->threads);
  add_number(verb, "--repeat", request->repeats.count, "Measurements, of which the median is told; default 7")
      ->check(CLI::Range(1, 1000));
  add_number(verb, "--seconds", request->repeats.seconds, "The least time of one measurement; default 0.1")
      ->check(CLI::Range(1e-4, 60.0));
  verb.add_flag("--json", request->json, "Google Benchmark's JSON instead of the table");
  verb.footer(
      "GB/s counts the input read once and the output written once; memcpy copies the input with the same\n"
      "threads and counts it read and written. Data that fit a cache are timed in that cache.\n"
      "Example: ndfold bench --op softmax --shape 64,512,512 --axes 1 --threads 2");
  return [request] { return bench(*request); };
}

}  // namespace ndfold::cli
