#include "plans/explain.h"

#include <nlohmann/json.hpp>

namespace ndfold {
namespace {

using Json = nlohmann::ordered_json;

Json axes_json(const std::vector<Axis>& axes) {
  Json list = Json::array();
  for (const Axis& axis : axes) list.push_back({{"size", axis.size}, {"in", axis.in}, {"out", axis.out}});
  return list;
}

Json view_json(const ViewDesc& view) {
  return {{"dtype", name(view.dtype)},
          {"sizes", view.sizes},
          {"strides", view.strides},
          {"alignment_bytes", view.alignment_bytes}};
}

Json axis_set_json(const AxisSet& axes) { return axes.is_all() ? Json("all") : Json(axes.list()); }

Json request_json(const Request& request) {
  Json json = {{"text", headline(request)}, {"in", view_json(request.in)}, {"out", view_json(request.out)}};
  if (request.kind == RequestKind::permute) json["order"] = request.order.axes;
  if (request.kind == RequestKind::reduce)
    json["reduce"] = {{"op", name(request.reduce.op)},
                      {"axes", axis_set_json(request.reduce.axes)},
                      {"accumulate", name(request.reduce.accumulate)},
                      {"keep_axes", request.reduce.keep_axes},
                      {"ddof", request.reduce.ddof},
                      {"compensated", request.reduce.compensated}};
  if (request.kind == RequestKind::softmax)
    json["softmax"] = {{"kind", name(request.softmax.kind)},
                       {"axes", axis_set_json(request.softmax.axes)},
                       {"scale", request.softmax.scale},
                       {"alpha", request.softmax.alpha}};
  return json;
}

Json canonical_json(const Problem& problem) {
  return {{"kept", axes_json(problem.axes.kept)},
          {"reduced", axes_json(problem.axes.reduced)},
          {"in_offset", problem.axes.in_offset},
          {"out_offset", problem.axes.out_offset},
          {"index_offset", problem.axes.index_offset},
          {"repeat", problem.axes.repeat},
          {"count", problem.count}};
}

Json buffer_json(const Buffer& buffer) {
  static constexpr std::string_view kPlaces[] = {"none", "input", "output", "workspace"};
  return {{"place", kPlaces[static_cast<std::size_t>(buffer.place)]}, {"offset_bytes", buffer.offset_bytes}};
}

Json kernel_json(const KernelKey& kernel) {
  return {{"name", kernel_name(kernel)},
          {"body", name(kernel.body)},
          {"fold", name(kernel.fold)},
          {"map", name(kernel.map)},
          {"input", name(kernel.input)},
          {"accumulate", name(kernel.accumulate)},
          {"output", name(kernel.output)},
          {"source", name(kernel.source)},
          {"sink", name(kernel.sink)},
          {"scope", name(kernel.scope)},
          {"residency", name(kernel.residency)},
          {"tuning",
           {{"threads", kernel.tuning.threads},
            {"lanes_per_row", kernel.tuning.lanes_per_row},
            {"vector_bytes", kernel.tuning.vector_bytes},
            {"unroll", kernel.tuning.unroll},
            {"panel_bytes", kernel.tuning.panel_bytes},
            {"cluster_blocks", kernel.tuning.cluster_blocks}}}};
}

Json step_json(const Step& step) {
  return {{"kernel", kernel_json(step.kernel)},
          {"kept", axes_json(step.kept)},
          {"reduced", axes_json(step.reduced)},
          {"in_offset", step.in_offset},
          {"out_offset", step.out_offset},
          {"index_offset", step.index_offset},
          {"part", step.part},
          {"parts", step.parts},
          {"outputs_side_by_side", step.outputs_side_by_side},
          {"repeat", step.repeat},
          {"count", step.count},
          {"ddof", step.ddof},
          {"scale", step.scale},
          {"alpha", step.alpha},
          {"in", buffer_json(step.in)},
          {"out", buffer_json(step.out)},
          {"values", buffer_json(step.values)},
          {"exchange", buffer_json(step.exchange)},
          {"grid", step.launch.grid},
          {"block", step.launch.block},
          {"cluster", step.launch.cluster},
          {"shared_bytes", step.launch.shared_bytes},
          {"cooperative", step.launch.cooperative},
          {"grid_barriers", step.launch.grid_barriers},
          {"bytes_read", step.bytes_read},
          {"bytes_written", step.bytes_written}};
}

Json candidates_json(const Choice& choice) {
  static constexpr std::string_view kVerdicts[] = {"yes", "unwise", "no"};
  Json list = Json::array();
  for (const Candidate& candidate : choice.candidates) {
    Json row = {{"strategy", candidate.name}, {"verdict", kVerdicts[static_cast<std::size_t>(candidate.verdict.kind)]}};
    if (candidate.verdict.kind == Verdict::Kind::yes)
      row["microseconds"] = candidate.microseconds;
    else
      row["why"] = candidate.verdict.why;
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace

std::string explain_json(const Request& request, const Problem& problem, const Choice& choice) {
  Json steps = Json::array();
  for (const Step& step : choice.schedule.steps) steps.push_back(step_json(step));
  const Json json = {{"request", request_json(request)},
                     {"device", request.options.device.name},
                     {"canonical", canonical_json(problem)},
                     {"strategy", choice.strategy},
                     {"forced", choice.forced},
                     {"microseconds", choice.microseconds},
                     {"bytes_moved", bytes_moved(choice.schedule)},
                     {"workspace_bytes", choice.schedule.workspace_bytes},
                     {"steps", std::move(steps)},
                     {"candidates", candidates_json(choice)}};
  constexpr int kIndent = 2;
  // A device's name may be any bytes the caller gave; nothing here may throw.
  return json.dump(kIndent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ndfold
