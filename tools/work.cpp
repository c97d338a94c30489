// Work: what the user asks for, whichever verb asks, and the plan that follows from it.
#include "tools/work.h"

#include "lib/io/host_bytes.h"

#include <algorithm>

namespace ndfold::cli {
namespace {

struct KindName {
  const char* name;
  Kind kind;
  SoftmaxKind softmax;
};

constexpr KindName kKindNames[] = {
    {"softmax", Kind::softmax, SoftmaxKind::softmax},
    {"log-softmax", Kind::softmax, SoftmaxKind::log_softmax},
    {"log_softmax", Kind::softmax, SoftmaxKind::log_softmax},
    {"permute", Kind::permute, SoftmaxKind::softmax},
};

constexpr const char* kKindTitles[] = {"reductions", "softmax and log-softmax", "permute"};

std::string op_names(bool any_kind) {
  std::string names;
  for (const auto& row : kOpFacts) names += (names.empty() ? "" : " ") + std::string(row.name);
  return any_kind ? "softmax log-softmax permute " + names : names;
}

void read_op(Work& work, const std::string& text, bool any_kind) {
  if (const auto op = parse_op(text)) {
    work.kind = Kind::reduce;
    work.reduce.op = *op;
    return;
  }
  const auto* row = std::find_if(std::begin(kKindNames), std::end(kKindNames),
                                 [&](const KindName& kind) { return text == kind.name; });
  if (row == std::end(kKindNames))
    throw CLI::ValidationError("--op", "'" + text + "' is not an operation; there are " + op_names(any_kind));
  if (!any_kind) throw CLI::ValidationError("--op", "'" + text + "' is a verb of its own: ndfold " + text + " --help");
  work.kind = row->kind;
  work.softmax.kind = row->softmax;
}

Status check_options(const Work& work) {
  for (const auto& [option, kind] : work.belongs) {
    if (option->count() == 0 || kind == work.kind) continue;
    return {Code::invalid_argument, option->get_name() + " is for " + kKindTitles[static_cast<int>(kind)] +
                                        ", the operation belongs to " + kKindTitles[static_cast<int>(work.kind)]};
  }
  if (work.kind == Kind::permute && work.axes)
    return {Code::invalid_argument, "--axes is for reductions and softmax, the operation is permute: give --order"};
  return {};
}

Result<ViewDesc> permuted(const ViewDesc& in, const Order& order) {
  std::vector<Index> sizes;
  for (const int axis : order.axes) {
    const int counted = axis < 0 ? axis + in.rank() : axis;
    if (counted < 0 || counted >= in.rank())
      return Status(Code::invalid_argument, "order names axis " + std::to_string(axis) + ", the input has " +
                                                std::to_string(in.rank()) + " axes");
    sizes.push_back(in.sizes[static_cast<std::size_t>(counted)]);
  }
  return dense(in.dtype, std::move(sizes));
}

Result<ViewDesc> output_of(const Work& work, const ViewDesc& in) {
  switch (work.kind) {
    case Kind::reduce: return output_desc(in, work.reduce);
    case Kind::softmax: return dense(in.dtype, in.sizes);
    case Kind::permute: return permuted(in, work.order);
  }
  return Status(Code::internal, "the kind of work is unknown");
}

Result<ReducePlan> plan_of(const Work& work, const ViewDesc& in, const ViewDesc& out) {
  switch (work.kind) {
    case Kind::reduce: return ReducePlan::reduce(in, out, work.reduce, work.options);
    case Kind::softmax: return ReducePlan::softmax(in, out, work.softmax, work.options);
    case Kind::permute: return ReducePlan::permute(in, out, work.order, work.options);
  }
  return Status(Code::internal, "the kind of work is unknown");
}

}  // namespace

CLI::Option* add_op(CLI::App& verb, Work& work, bool any_kind) {
  const auto read = [&work, any_kind](const std::string& text) { read_op(work, text, any_kind); };
  return verb.add_option_function<std::string>("--op", read, "One of:\n" + op_names(any_kind))->type_name("NAME");
}

void add_work_axes(CLI::App& verb, Work& work) {
  add_axes(verb, work.axes,
           "The axes to work over; negative ones count from the last.\n"
           "Left out: all for reductions, the last for softmax and log-softmax");
}

void add_reduce_options(CLI::App& verb, Work& work) {
  auto& spec = work.reduce;
  const CLI::Option* const options[] = {
      verb.add_flag("--keepdims", spec.keep_axes, "Keep the reduced axes, with size 1"),
      add_number(verb, "--ddof", spec.ddof, "var and std divide by n - N; default 0"),
      add_dtype(verb, "--accumulate", spec.accumulate, "The type to compute in; default f32, f64 or 64-bit integers"),
      verb.add_flag("--compensated", spec.compensated, "sum and mean: carry the rounding errors along"),
  };
  for (const auto* option : options) work.belongs.emplace_back(option, Kind::reduce);
}

void add_softmax_options(CLI::App& verb, Work& work) {
  const CLI::Option* const options[] = {
      add_number(verb, "--scale", work.softmax.scale, "Multiplies the input: 1/temperature; default 1"),
      add_number(verb, "--alpha", work.softmax.alpha, "Multiplies the output; default 1"),
  };
  for (const auto* option : options) work.belongs.emplace_back(option, Kind::softmax);
}

CLI::Option* add_order(CLI::App& verb, Work& work) {
  auto* option = add_list(verb, "--order", work.order.axes, "Axis i of the output is axis ORDER[i] of the input");
  work.belongs.emplace_back(option, Kind::permute);
  return option;
}

void add_strategy(CLI::App& verb, Work& work) {
  verb.add_option("--strategy", work.options.strategy, "Force this strategy; 'ndfold explain' prints their names")
      ->type_name("NAME");
}

Result<Planned> make_plan(const Work& work, const ViewDesc& in) {
  if (auto status = check_options(work); !status.ok()) return status;
  auto asked = work;
  asked.reduce.axes = work.axes.value_or(AxisSet::all());
  asked.softmax.axes = work.axes.value_or(AxisSet({-1}));
  auto out = output_of(asked, in);
  if (!out) return out.error();
  if (work.output != DType::best) out->dtype = work.output;
  out->alignment_bytes = io::HostBytes::kAlignment;
  auto plan = plan_of(asked, in, *out);
  if (!plan) return plan.error();
  return Planned{.plan = *std::move(plan), .out = *std::move(out)};
}

}  // namespace ndfold::cli
