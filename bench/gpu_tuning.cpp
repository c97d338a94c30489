// The functions of gpu_tuning.h.
#include "bench/gpu_tuning.h"

#include "bench/request.h"
#include "bench/tell.h"
#include "plans/build/orientation.h"
#include "plans/choose.h"
#include "plans/tuning/override.h"

namespace {

using namespace ndfold;
using bench::tell;

Result<std::string> row_of(const NdfoldBenchCase& c, int ordinal, const char* strategy) {
  std::string why;
  const auto asked = bench::request_of(c, why);
  if (!asked) return Status(Code::invalid_argument, why);
  const auto facts = DeviceFacts::cuda(ordinal);
  if (!facts) return facts.error();
  const PlanOptions options{.device = *facts, .strategy = strategy};
  const auto problem = make_problem(
      std::visit([&](const auto& spec) { return request_of(asked->in, asked->out, spec, options); }, asked->spec));
  if (!problem) return problem.error();
  const auto choice = choose(*problem, options);
  if (!choice) return choice.error();
  TuningQuestion question = question_of(strategy, *problem);
  const KernelKey& kernel = choice->schedule.steps.front().kernel;
  if (kernel.body == Body::columns) question.registers = kernel.residency == Residency::registers;
  const TuningRow& used = tuning_for(*facts, question);
  return text_of(TuningOverride{.architecture = facts->architecture, .row = used});
}

}  // namespace

const char* ndfold_bench_tuning_columns() {
  static const std::string kColumns = override_columns();
  return kColumns.c_str();
}

int ndfold_bench_tuning_row(const NdfoldBenchCase* c, int ordinal, const char* strategy, char* to, std::size_t room) {
  const auto row = row_of(*c, ordinal, strategy);
  tell(row ? *row : row.error().message(), to, room);
  return row ? 0 : 1;
}

int ndfold_bench_use_tuning(const char* text, char* why, std::size_t room) {
  const auto rows = parse_overrides(text);
  if (rows) return use_overrides(*rows), 0;
  tell(rows.error().message(), why, room);
  return 1;
}
