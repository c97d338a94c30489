#include "plans/choose.h"

#include "plans/build/geometry.h"
#include "plans/cost.h"
#include "plans/tuning/override.h"

namespace ndfold {
namespace {

struct Built {
  Verdict verdict;
  Schedule schedule;
};

// The schedule of a row that may take the problem, within the device's limits.
Built build(const Strategy& row, const Problem& problem, const DeviceFacts& device) {
  Built built{.verdict = row.can(problem, device), .schedule = {}};
  if (!built.verdict.possible()) return built;
  built.schedule = row.build(problem, device);
  fit_to_device(built.schedule, device);
  if (!built.schedule.workspace_fits) built.verdict = no("its workspace would take more than 2^63 bytes");
  return built;
}

std::string names_of_table() {
  std::string names;
  for (const Strategy& row : strategies()) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

Result<Choice> forced(const Problem& problem, const PlanOptions& options, Choice choice) {
  for (const Strategy& row : strategies()) {
    if (row.name != options.strategy) continue;
    Built built = build(row, problem, options.device);
    if (!built.verdict.possible())
      return Status(Code::unsupported, "strategy " + options.strategy + " cannot do this on " + options.device.name +
                                           ": " + built.verdict.why);
    choice.strategy = row.name;
    choice.schedule = std::move(built.schedule);
    choice.microseconds = microseconds(choice.schedule, options.device);
    choice.forced = true;
    return choice;
  }
  return Status(Code::invalid_argument,
                "strategy " + options.strategy + " is not in the table; it has " + names_of_table());
}

}  // namespace

Result<Choice> choose(const Problem& problem, const PlanOptions& options) {
  const DeviceFacts& device = options.device;
  if (device.kind == DeviceKind::cuda)
    if (Status status = check_overrides(); !status.ok()) return status;
  Choice choice;
  double least = 0;
  for (const Strategy& row : strategies()) {
    Built built = build(row, problem, device);
    Candidate candidate{.name = row.name, .verdict = std::move(built.verdict)};
    if (candidate.verdict.kind == Verdict::Kind::yes) {
      candidate.microseconds = microseconds(built.schedule, device);
      const double rank = microseconds(built.schedule, ranking_facts(device));
      if (choice.strategy.empty() || rank < least) {
        least = rank;
        choice.strategy = row.name;
        choice.schedule = std::move(built.schedule);
        choice.microseconds = candidate.microseconds;
      }
    }
    choice.candidates.push_back(std::move(candidate));
  }
  if (!options.strategy.empty()) return forced(problem, options, std::move(choice));
  if (choice.strategy.empty()) return Status(Code::internal, "no strategy takes this problem on " + device.name);
  return choice;
}

}  // namespace ndfold
