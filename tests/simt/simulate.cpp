#include "tests/simt/simulate.h"

#include "plans/choose.h"
#include "plans/explain.h"
#include "tests/simt/memory.h"

#include <cstring>

namespace simt {
namespace {

using namespace ndfold;
using namespace ndfold::cuda;
using namespace ndfold::test;

/// A copy of an array's elements, from the first to the last, in the device's memory.
class Copy {
 public:
  Copy(Array& array, Access access, bool known, const std::string& name) : array_(array) {
    const Span span = span_of(array.desc());
    const auto width = static_cast<Index>(size_bytes(array.desc().dtype));
    bytes_ = static_cast<std::size_t>((span.high - span.low + 1) * width);
    host_ = static_cast<std::byte*>(array.data()) + span.low * width;
    first_ = allocate(bytes_, reinterpret_cast<std::uintptr_t>(host_), access, known, name);
    data_ = first_ - span.low * width;
    std::memcpy(first_, host_, bytes_);
  }
  std::byte* data() const { return data_; }
  void copy_back() const { std::memcpy(host_, first_, bytes_); }
  bool is_unchanged() const { return std::memcmp(host_, first_, bytes_) == 0; }

 private:
  Array& array_;
  std::size_t bytes_;
  std::byte *host_, *first_, *data_;
};

std::string words(const Step& step) {
  const KernelKey& key = step.kernel;
  return std::string(name(key.fold)) + ' ' + std::string(name(key.body)) + ' ' + std::string(name(key.scope)) + ' ' +
         std::string(name(key.source)) + ' ' + std::string(name(key.sink)) + ' ' + std::string(name(key.residency)) +
         ' ' + std::string(name(key.input)) + "→" + std::string(name(key.output));
}

Request request_for(const AnyRequest& request, const ViewDesc& in, const ViewDesc& out, const PlanOptions& options) {
  return std::visit([&](const auto& spec) { return request_of(in, out, spec, options); }, request);
}

void run_steps(const Schedule& schedule, const Pointers& pointers, const Options& options, Find find, Judged& run) {
  for (const Step& step : schedule.steps) {
    const Found found = find(step.kernel, layout_of(step));
    if (found.kernel == nullptr) {
      run.missing = true;
      run.failure = "no kernel for " + words(step);
      return;
    }
    const Bound bound = bind(step, found);
    const Arguments arguments = place(bound, pointers);
    const LaunchShape shape = bound.shape(arguments.kernel);
    const auto y = static_cast<unsigned>(shape.grid_y);
    const Report report = launch(
        {.x = static_cast<unsigned>(shape.grid_x),
         .y = shape.cooperative ? y : std::min(y, options.most_y),
         .threads = shape.threads,
         .cluster = static_cast<unsigned>(shape.cluster),
         .shared_bytes = static_cast<std::size_t>(shape.shared_bytes),
         .cooperative = shape.cooperative},
        [&] { bound.kernel(arguments.kernel).kernel(arguments); }, options);
    run.whole_packs |= arguments.kernel == KernelOf::whole_packs;
    run.cut_lines |= arguments.kernel == KernelOf::cut_lines;
    run.cut_runs |= arguments.kernel == KernelOf::cut_runs;
    run.sectors |= arguments.kernel == KernelOf::sectors;
    run.elements |= arguments.kernel == KernelOf::elements;
    run.barriers.insert(report.barriers.begin(), report.barriers.end());
    if (!report.failure.empty()) {
      run.failure = words(step) + ": " + report.failure;
      return;
    }
  }
}

}  // namespace

Judged simulate(const AnyRequest& request, Array& in, Array& out, const PlanOptions& plan_options,
                const Options& options, Find find) {
  Judged run;
  const Request asked = request_for(request, in.desc(), out.desc(), plan_options);
  const auto problem = make_problem(asked);
  const auto choice = problem ? choose(*problem, asked.options) : Result<Choice>(problem.error());
  if (!choice) {
    run.refused = true;
    run.failure = choice.error().message();
    return run;
  }
  run.strategy = choice->strategy;
  const Schedule& schedule = choice->schedule;
  const bool in_place = &in == &out;
  const auto expected = std::visit([&](const auto& spec) { return expected_of(spec, in, out.desc()); }, request);
  const std::size_t before = mark();
  const Copy from(in, in_place ? Access::read_write : Access::read_only, true, "the input");
  const Copy to = in_place ? from : Copy(out, Access::read_write, false, "the output");
  Pointers pointers{.in = from.data(), .out = to.data(), .workspace = nullptr};
  pointers.workspace =
      allocate(static_cast<std::size_t>(schedule.workspace_bytes), 0, Access::read_write, false, "the workspace");
  run_steps(schedule, pointers, options, find, run);
  to.copy_back();
  if (run.failure.empty() && !in_place && !from.is_unchanged()) run.failure = "the input was written to";
  release(before);
  if (run.failure.empty()) run.failure = judge(expected, out, false, sign_counts(request), run.worst);
  if (run.failure.empty() && !out.gaps_untouched()) run.failure = "bytes between the output's elements were written";
  if (!run.failure.empty() && !run.missing) run.failure += "\n" + explain(asked, *problem, *choice);
  return run;
}

}  // namespace simt
