#include "plans/explain.h"

#include "plans/build/geometry.h"
#include "plans/tuning/override.h"
#include "plans/words.h"

#include <algorithm>

namespace ndfold {
namespace {

constexpr std::size_t kLabelWidth = 11;

std::string labelled(std::string label, const std::string& text) {
  label.resize(std::max(label.size() + 1, kLabelWidth), ' ');
  return label + text + "\n";
}

std::string types(DType from, DType to) {
  return std::string(name(from)) + (from == to ? "" : "→" + std::string(name(to)));
}

std::string strides_of(const ViewDesc& view, std::string_view label) {
  return view.strides == row_major_strides(view.sizes)
             ? ""
             : " " + std::string(label) + " " + text_of_list(view.strides, "{", "}");
}

std::string settings(const Request& request) {
  std::string text;
  if (request.kind == RequestKind::softmax && request.softmax.scale != 1)
    text += " scale " + text_of_number(request.softmax.scale);
  if (request.kind == RequestKind::softmax && request.softmax.alpha != 1)
    text += " alpha " + text_of_number(request.softmax.alpha);
  if (request.kind == RequestKind::reduce && request.reduce.ddof != 0)
    text += " ddof " + std::to_string(request.reduce.ddof);
  if (request.kind == RequestKind::reduce && request.reduce.compensated) text += " compensated";
  return text;
}

struct Place {
  Axis axis;
  bool reduced;
};

// Kept and reduced axes as they alternate in the input, far to near.
std::vector<Place> places(const Canonical& axes) {
  std::vector<Place> list;
  for (const Axis& axis : axes.kept) list.push_back({axis, false});
  for (const Axis& axis : axes.reduced) list.push_back({axis, true});
  std::stable_sort(list.begin(), list.end(), [](const Place& a, const Place& b) {
    return a.axis.in != 0 && b.axis.in != 0 ? a.axis.in > b.axis.in : a.axis.in == 0 && b.axis.in != 0;
  });
  return list;
}

std::string canonical_text(const Problem& problem) {
  std::string text;
  for (const auto& [axis, reduced] : places(problem.axes)) {
    text += (text.empty() ? "" : " · ") + std::string(reduced ? "reduced " : "kept ") + std::to_string(axis.size) +
            " (in " + std::to_string(axis.in);
    const bool writes = !reduced || problem.kind == RequestKind::softmax;
    if (writes && axis.out != axis.in) text += ", out " + std::to_string(axis.out);
    if (!writes && axis.out != 0) text += ", weight " + std::to_string(axis.out);
    text += ")";
  }
  if (text.empty()) text = problem.reads_nothing() ? "no elements" : "one element";
  const auto note = [&](std::string_view what, Index value) {
    if (value != 0) text += " · " + std::string(what) + " " + std::to_string(value);
  };
  if (problem.axes.repeat != 1) note("each element repeated", problem.axes.repeat);
  note("input starts at", problem.axes.in_offset);
  note("output starts at", problem.axes.out_offset);
  note("indices start at", problem.axes.index_offset);
  return text;
}

std::string device_text(const DeviceFacts& device) {
  if (device.kind == DeviceKind::cpu)
    return device.name + " · " + std::to_string(device.multiprocessors) +
           (device.multiprocessors == 1 ? " core of " : " cores of ") + std::to_string(device.lanes) + " lanes";
  return device.name + " · sm_" + std::to_string(device.architecture) + " · " + std::to_string(device.multiprocessors) +
         " multiprocessors";
}

std::string tile_text(const Step& step) {
  const Tuning& tuning = step.kernel.tuning;
  switch (step.kernel.body) {
    case Body::columns: {
      const Index panel = std::max<Index>(1, tuning.panel_bytes / static_cast<Index>(size_bytes(step.kernel.input)));
      const Index width = step.kept.empty() ? 1 : std::min(panel, step.kept.back().size);
      return "  tile " + std::to_string(step.part) + "×" + std::to_string(width);
    }
    case Body::rows: return (step.parts > 1 ? "  part " : "  row ") + std::to_string(step.part);
    default: return "";
  }
}

std::string geometry_text(const Step& step) {
  const Launch& launch = step.launch;
  std::string text = tile_text(step);
  if (step.kernel.scope == Scope::lanes) text += "  lanes " + std::to_string(step.kernel.tuning.lanes_per_row);
  if (launch.block > 1) text += "  " + std::to_string(launch.block) + " threads";
  if (launch.cluster > 1) text += "  cluster " + std::to_string(launch.cluster);
  if (launch.shared_bytes > 0) text += "  " + text_of_bytes(launch.shared_bytes) + " shared";
  const auto& grid = launch.grid;
  text += "  grid ";
  if (grid[0] != 1) text += std::to_string(grid[0]) + "×";
  text += std::to_string(grid[1]) + (grid[2] != 1 ? "×" + std::to_string(grid[2]) : "");
  if (launch.cooperative)
    text += "  cooperative, " + std::to_string(launch.grid_barriers) +
            (launch.grid_barriers == 1 ? " barrier" : " barriers");
  return text;
}

std::string step_text(const Step& step) {
  const KernelKey& kernel = step.kernel;
  std::string text = kernel_name(kernel) + "  " + types(kernel.input, kernel.output);
  const bool computes = kernel.body != Body::permute;
  if (computes && kernel.accumulate != kernel.input && kernel.accumulate != kernel.output)
    text += " in " + std::string(name(kernel.accumulate));
  if (computes && kernel.body != Body::elementwise && kernel.source != SourceKind::dense)
    text += kernel.source == SourceKind::states ? "  merges states" : "  " + std::string(name(kernel.source));
  if (kernel.sink == SinkKind::store_state) text += "  leaves states";
  if (kernel.scope == Scope::cluster || kernel.scope == Scope::grid)
    text += "  over the " + std::string(name(kernel.scope));
  if (kernel.residency != Residency::none) text += "  waits in " + std::string(name(kernel.residency));
  if (kernel.residency != Residency::none && share_again(step) > 0) text += " in part";
  return text + geometry_text(step);
}

std::string chosen_text(const Choice& choice) {
  const std::size_t launches = choice.schedule.steps.size();
  const double bytes = bytes_moved(choice.schedule);
  std::string strategy(choice.strategy);
  strategy.resize(std::max<std::size_t>(strategy.size(), 16), ' ');
  strategy += "   " + std::to_string(launches) + (launches == 1 ? " launch" : " launches") + " · " +
              text_of_bytes(choice.schedule.workspace_bytes) + " workspace · " + text_of_traffic(bytes);
  if (launches == 0) return strategy;
  return strategy + " · ≈ " + text_of_time(choice.microseconds) + " (" + text_of_speed(bytes, choice.microseconds) +
         ")";
}

// The cheapest first.
std::string dearer_text(const Choice& choice) {
  std::vector<const Candidate*> others;
  for (const Candidate& candidate : choice.candidates)
    if (candidate.verdict.kind == Verdict::Kind::yes && candidate.name != choice.strategy) others.push_back(&candidate);
  std::stable_sort(others.begin(), others.end(),
                   [](const Candidate* a, const Candidate* b) { return a->microseconds < b->microseconds; });
  std::string text;
  for (const Candidate* other : others)
    text += (text.empty() ? "" : "   ") + std::string(other->name) + " ≈ " + text_of_time(other->microseconds);
  return text;
}

}  // namespace

double bytes_moved(const Schedule& schedule) {
  double bytes = 0;
  for (const Step& step : schedule.steps) bytes += step.bytes_read + step.bytes_written;
  return bytes;
}

std::string kernel_name(const KernelKey& kernel) {
  if (kernel.body == Body::permute) return "permute";
  std::string_view what = kernel.body == Body::elementwise ? name(kernel.map) : name(kernel.fold);
  if (kernel.sink == SinkKind::log_softmax) what = name(kernel.sink);
  return std::string(what) + "_" + std::string(name(kernel.body));
}

std::string headline(const Request& request) {
  const bool permutes = request.kind == RequestKind::permute;
  const bool reduces = request.kind == RequestKind::reduce;
  std::string text = permutes ? "permute" : std::string(reduces ? name(request.reduce.op) : name(request.softmax.kind));
  text += " " + types(request.in.dtype, request.out.dtype) + " " + text_of_list(request.in.sizes, "[", "]") +
          strides_of(request.in, "strides") + " ";
  text += permutes  ? "order " + text_of_list({request.order.axes.begin(), request.order.axes.end()}, "{", "}")
          : reduces ? text_of_axes(request.reduce.axes)
                    : text_of_axes(request.softmax.axes);
  text += settings(request) + " → ";
  const bool same = request.out.sizes == request.in.sizes && request.out.strides == request.in.strides;
  return text + (same ? "same" : text_of_list(request.out.sizes, "[", "]") + strides_of(request.out, "strides"));
}

std::string explain(const Request& request, const Problem& problem, const Choice& choice) {
  std::string text = headline(request) + "\n";
  text += labelled("device", device_text(request.options.device));
  if (is_overridden(request.options.device)) text += labelled("tuned", "with numbers of the file in NDFOLD_TUNING");
  text += labelled("canonical", canonical_text(problem));
  text += labelled(choice.forced ? "forced" : "chosen", chosen_text(choice));
  int number = 0;
  for (const Step& step : choice.schedule.steps)
    text += "  " + std::to_string(++number) + "  " + step_text(step) + "\n";
  for (const Candidate& candidate : choice.candidates)
    if (candidate.verdict.kind != Verdict::Kind::yes && candidate.name != choice.strategy)
      text += labelled("refused", std::string(candidate.name) + ": " + candidate.verdict.why);
  const std::string others = dearer_text(choice);
  if (!others.empty()) text += labelled(choice.forced ? "others" : "dearer", others);
  return text;
}

}  // namespace ndfold
