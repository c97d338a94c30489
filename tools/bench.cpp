// The verb bench.
#include "tools/compute.h"
#include "tools/device_table.h"
#include "tools/progress.h"
#include "tools/race.h"
#include "tools/verbs.h"

#include <algorithm>
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

// What was asked and planned: the first line of its explanation.
std::string title_of(const ReducePlan& plan) {
  const auto text = plan.explain();
  return text.substr(0, text.find('\n')) + "   " + std::string(plan.strategy());
}

Result<Race> race_of(const Request& request, const Planned& planned, const ViewDesc& in) {
  const auto& device = request.work.options.device;
  if (device.kind == DeviceKind::cpu) return race_on_cpu(planned, in, request.threads);
  if (request.threads > 0) return threads_are_of_the_cpu(device);
  return race_on_gpu(planned, in, device);
}

Status bench(const Request& request) {
  auto in = dense(request.dtype, request.shape);
  in.alignment_bytes = io::HostBytes::kAlignment;
  const auto planned = make_plan(request.work, in);
  if (!planned) return planned.error();
  if (std::find(in.sizes.begin(), in.sizes.end(), 0) != in.sizes.end())
    return {Code::invalid_argument, "--shape has no elements: there is nothing to time"};
  std::optional<Progress> progress(std::in_place, "bench");
  const auto race = race_of(request, *planned, in);
  if (!race) return race.error();
  const auto where = name_of(request.work.options.device) + ", " + race->where;
  if (request.json) {
    progress.reset();
    return print_timing_json(race->rows, request.repeats, where);
  }
  const auto table = timing_table(race->rows, request.repeats);
  progress.reset();
  if (!table) return table.error();
  std::cout << title_of(planned->plan) << ", " << where << '\n' << *table;
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
  add_running_device(verb, work.options.device);
  add_threads(verb, request->threads);
  add_number(verb, "--repeat", request->repeats.count, "Measurements, of which the median is told; default 7")
      ->check(CLI::Range(1, 1000));
  add_number(verb, "--seconds", request->repeats.seconds, "The least time of one measurement; default 0.1")
      ->check(CLI::Range(1e-4, 60.0));
  verb.add_flag("--json", request->json, "Google Benchmark's JSON instead of the table");
  verb.footer(
      "GB/s counts the input read once and the output written once; memcpy copies the input, with the same threads\n"
      "or within the same GPU, and counts it read and written. Data that fit a CPU's cache are timed in that cache.\n"
      "On a GPU launches are recorded in a graph and timed by its own clock, and inputs take turns, so that the\n"
      "cache has lost them.\n"
      "Example: ndfold bench --op softmax --shape 64,512,512 --axes 1 --threads 2");
  return [request] { return bench(*request); };
}

}  // namespace ndfold::cli
