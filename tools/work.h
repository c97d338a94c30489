// Work: what the user asks for, whichever verb asks, and the plan that follows from it.
#pragma once
#include <ndfold/plan.h>

#include "tools/values.h"

#include <string>
#include <utility>
#include <vector>

namespace ndfold::cli {

enum class Kind : std::uint8_t { reduce, softmax, permute };

/// Filled by the options of a verb; the fields of other kinds than `kind` are not read.
struct Work {
  Kind kind = Kind::reduce;
  ReduceSpec reduce;
  SoftmaxSpec softmax;
  Order order;
  AxisChoice axes;             ///< left out: all for a reduction, the last for a softmax
  DType output = DType::best;  ///< best: the operation's default
  PlanOptions options;
  std::vector<std::pair<const CLI::Option*, Kind>> belongs;  ///< options that make sense for one kind only
};

/// --op with the names of reductions, and of all the other kinds too when `any_kind`.
CLI::Option* add_op(CLI::App& verb, Work& work, bool any_kind);
/// --axes, with a help that tells its default.
void add_work_axes(CLI::App& verb, Work& work);
/// --accumulate, --compensated, --ddof, --keepdims.
void add_reduce_options(CLI::App& verb, Work& work);
/// --scale, --alpha.
void add_softmax_options(CLI::App& verb, Work& work);
/// --order.
CLI::Option* add_order(CLI::App& verb, Work& work);
/// --strategy.
void add_strategy(CLI::App& verb, Work& work);

struct Planned {
  ReducePlan plan;
  ViewDesc out;
};

/// The plan for dense row-major output. Refuses options that belong to another kind of work.
Result<Planned> make_plan(const Work& work, const ViewDesc& in);

}  // namespace ndfold::cli
