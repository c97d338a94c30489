#include "tests/gpu/trial.h"

#include "plans/choose.h"
#include "tests/gpu/bench.h"
#include "tests/gpu/parallel.h"

#include <sstream>
#include <stdexcept>

namespace ndfold::test {
namespace {

constexpr std::size_t kChunk = 192;       // trials whose data are in memory at once
constexpr std::size_t kShareOnHost = 64;  // there it is the bodies that are tested: a few of each kind will do
constexpr int kReportedFailures = 4;      // in full
constexpr int kGarbage[] = {0xff, 0x00, 0x01, 0x5a};  // what a workspace may hold: no content of it matters

/// One run's data.
struct Round {
  Array in, out;
  std::vector<Expected> expected;
  std::optional<Array> witness;
};

struct Job {
  const Trial* trial = nullptr;
  std::optional<ReducePlan> plan, rival;
  std::vector<Round> rounds;
  std::string failure;
  Real worst = 0;
};

Request request_for(const Trial& trial, const PlanOptions& options) {
  return std::visit([&](const auto& spec) { return request_of(trial.in, trial.out, spec, options); }, trial.request);
}

// Whether the planner has a schedule for it, whatever the catalog and the device say then.
bool is_possible(const Trial& trial, const PlanOptions& options) {
  const Request request = request_for(trial, options);
  const auto problem = make_problem(request);
  return problem && choose(*problem, request.options);
}

std::optional<ReducePlan> planned(const Trial& trial, const std::string& strategy, std::string& failure) {
  const PlanOptions options{.device = trial.device, .strategy = strategy};
  auto plan = plan_for(trial.request, trial.in, trial.out, options);
  if (plan) return *plan;
  const bool refused = !strategy.empty() && plan.error().code() == Code::unsupported && !is_possible(trial, options);
  if (!refused) failure = "planning: " + plan.error().message();
  return {};
}

Round make_round(const Trial& trial, std::uint64_t seed) {
  Array in(trial.in, trial.in_shift);
  fill(in, trial.values, seed);
  if (trial.touch) trial.touch(in, seed);
  Array out = trial.in_place ? in : Array(trial.out, trial.out_shift);
  auto expected = std::visit([&](const auto& spec) { return expected_of(spec, in, trial.out); }, trial.request);
  return {.in = std::move(in), .out = std::move(out), .expected = std::move(expected), .witness = {}};
}

void ask_the_cpu(const Trial& trial, Round& round, std::string& failure) {
  const auto plan = plan_for(trial.request, trial.in, trial.out);
  if (!plan) {
    failure = "the CPU back end: " + plan.error().message();
    return;
  }
  round.witness = round.out;
  Scratch scratch(plan->workspace_bytes());
  const auto alone = make_workers(1);
  const void* const in = trial.in_place ? round.witness->data() : round.in.data();
  const Status status = plan->run(in, round.witness->data(), scratch.get(), {.workers = alone.get()});
  if (!status) failure = "the CPU back end: " + status.message();
}

void make_rounds(Job& job) {
  const Trial& trial = *job.trial;
  for (int i = 0; i <= trial.replays; ++i) job.rounds.push_back(make_round(trial, static_cast<std::uint64_t>(i) + 1));
  if (trial.witness.empty())
    for (Round& round : job.rounds) ask_the_cpu(trial, round, job.failure);
}

// The first failure is the one that tells.
void note(Job& job, const std::string& when, const std::string& what) {
  if (!what.empty() && job.failure.empty()) job.failure = when + ": " + what;
}

void run_eager(Bench& bench, Job& job, const ReducePlan& plan, Round& round, Array& out, int garbage) {
  bench.put(round.in, garbage);
  const Status status = plan.run(bench.in(), bench.out(), bench.workspace(), bench.queue().get());
  if (!status) note(job, "run", status.message());
  note(job, "eager", bench.take(out));
}

void run_captured(Bench& bench, Job& job) {
  const auto work = [&] { return job.plan->run(bench.in(), bench.out(), bench.workspace(), bench.queue().get()); };
  Graph graph(bench.queue(), work);
  if (!graph.status()) return note(job, "run in capture", graph.status().message());
  note(job, "captured", graph.other_than_kernels(job.plan->steps().size()));
  for (std::size_t i = 1; i < job.rounds.size(); ++i) {
    Round& round = job.rounds[i];
    bench.put(round.in, kGarbage[i % std::size(kGarbage)]);
    graph.launch();
    note(job, "replay " + std::to_string(i), bench.take(round.out));
  }
}

void run_on_device(Bench& bench, Job& job) {
  const Array* const out = job.trial->in_place ? nullptr : &job.rounds[0].out;
  const std::size_t rival_bytes = job.rival ? job.rival->workspace_bytes() : 0;
  bench.lay_out(job.rounds[0].in, out, job.plan->workspace_bytes());
  Array fresh = job.rounds[0].out;
  if (job.rounds.size() > 1) run_captured(bench, job);
  run_eager(bench, job, *job.plan, job.rounds[0], job.rounds[0].out, kGarbage[0]);
  Round& last = job.rounds.back();
  Array again = fresh;
  run_eager(bench, job, *job.plan, last, again, kGarbage[1]);
  if (!(again == last.out)) note(job, "eager", "its bits are not those of the same data before");
  if (!job.rival) return;
  bench.lay_out(job.rounds[0].in, job.trial->in_place ? nullptr : &fresh, rival_bytes);
  job.rounds[0].witness = fresh;
  run_eager(bench, job, *job.rival, job.rounds[0], *job.rounds[0].witness, kGarbage[0]);
}

// Two right results differ by two bounds at most; where the reference leaves no room they are the same.
std::string compare(const std::vector<Expected>& list, const Array& got, const Array& witness, bool sign_counts) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Real a = got.get(list[i].place), b = witness.get(list[i].place);
    if (is_same(a, b, sign_counts) || std::fabs(a - b) <= 2 * list[i].bound) continue;
    std::ostringstream text;
    text.precision(20);
    text << "element " << i << " is " << a << ", the witness has " << b << ", twice the bound is " << 2 * list[i].bound;
    return text.str();
  }
  return {};
}

void judge_all(Job& job) {
  const bool sign = sign_counts(job.trial->request);
  for (std::size_t i = 0; i < job.rounds.size(); ++i) {
    const Round& round = job.rounds[i];
    const std::string when = i == 0 ? "eager" : "replay " + std::to_string(i);
    note(job, when, judge(round.expected, round.out, false, sign, job.worst));
    if (!round.out.gaps_untouched()) note(job, when, "bytes between the output's elements were written");
    if (round.witness) note(job, when, compare(round.expected, round.out, *round.witness, sign));
  }
  if (!job.failure.empty()) job.failure += "\n" + job.plan->explain();
  job.rounds.clear();
}

std::string name_of(const Job& job) {
  return job.trial->name + (job.trial->strategy.empty() ? "" : " by " + job.trial->strategy);
}

void plan_all(std::span<const Trial> trials, std::vector<Job>& jobs, Tally& tally) {
  for (const Trial& trial : trials) {
    Job job{.trial = &trial, .plan = {}, .rival = {}, .rounds = {}, .failure = {}};
    job.plan = planned(trial, trial.strategy, job.failure);
    if (job.plan && !trial.witness.empty()) job.rival = planned(trial, trial.witness, job.failure);
    const bool possible = job.plan && (trial.witness.empty() || job.rival);
    if (!possible && job.failure.empty())
      ++tally.refused;
    else
      jobs.push_back(std::move(job));
  }
}

void run_chunk(Bench& bench, std::span<const Trial> trials, Tally& tally, int& failures) {
  std::vector<Job> jobs;
  plan_all(trials, jobs, tally);
  in_parallel(jobs.size(), [&](std::size_t i) {
    if (jobs[i].failure.empty()) make_rounds(jobs[i]);
  });
  for (Job& job : jobs) {
    if (!job.failure.empty()) continue;
    try {
      run_on_device(bench, job);
    } catch (const std::exception& error) {  // of CUDA: nothing that follows would tell anything
      throw std::runtime_error(name_of(job) + ": " + error.what());
    }
  }
  in_parallel(jobs.size(), [&](std::size_t i) {
    if (!jobs[i].rounds.empty()) judge_all(jobs[i]);
  });
  for (const Job& job : jobs) {
    ++tally.run;
    tally.worst = std::max(tally.worst, job.worst);
    if (job.plan) ++tally.strategies[std::string(job.plan->strategy())];
    if (job.failure.empty() || ++failures > kReportedFailures) continue;
    ADD_FAILURE() << name_of(job) << "\n" << job.failure;
  }
}

}  // namespace

Tally expect_right(const std::vector<Trial>& trials) {
  Tally tally;
  Bench bench;
  int failures = 0;
  std::vector<Trial> some;
  for (std::size_t i = 0; !is_gpu() && i < trials.size(); i += 1 + hash(i) % kShareOnHost) some.push_back(trials[i]);
  const std::span<const Trial> all(is_gpu() ? trials : some);
  for (std::size_t first = 0; first < all.size(); first += kChunk)
    run_chunk(bench, all.subspan(first, std::min(kChunk, all.size() - first)), tally, failures);
  EXPECT_EQ(failures, 0) << "trials of " << tally.run;
  record(tally);
  return tally;
}

void record(const Tally& tally) {
  using ::testing::Test;
  Test::RecordProperty("trials", tally.run);
  Test::RecordProperty("refused", tally.refused);
  Test::RecordProperty("worst_of_bound", std::to_string(static_cast<double>(tally.worst)));
  for (const auto& [strategy, count] : tally.strategies) Test::RecordProperty(strategy, count);
}

std::string text(const AxisSet& axes) { return axes.is_all() ? "all" : ::testing::PrintToString(axes.list()); }

}  // namespace ndfold::test
