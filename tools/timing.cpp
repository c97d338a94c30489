// Functions timed side by side with Google Benchmark: the work, and a memcpy to hold it against.
#include "tools/timing.h"

#include <ndfold/version.h>

#include <benchmark/benchmark.h>

#include <iomanip>
#include <sstream>

namespace ndfold::cli {
namespace {

constexpr double kMillisecond = 1e-3;
constexpr double kGigabyte = 1e9;

// Keeps the median of every row: the library's own when there were several measurements, else the only one.
class Medians : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const auto& run : runs)
      if (run.aggregate_name == "median" || (run.run_type == Run::RT_Iteration && run.repetitions <= 1))
        seconds_.push_back(run.GetAdjustedRealTime() / benchmark::GetTimeUnitMultiplier(run.time_unit));
  }

  const std::vector<double>& seconds() const { return seconds_; }

 private:
  std::vector<double> seconds_;
};

void time_by_host(benchmark::State& state, const Timed& row) {
  for ([[maybe_unused]] auto iteration : state) row.run();
}

void time_by_itself(benchmark::State& state, const Timed& row, Status& failure) {
  while (failure.ok() && state.KeepRunningBatch(row.runs)) {
    const auto seconds = row.seconds();
    if (seconds)
      state.SetIterationTime(*seconds);
    else
      failure = seconds.error();
  }
  if (!failure.ok()) state.SkipWithError(failure.message().c_str());
}

/// Runs all rows. `failure` is what the first clock that failed said.
class Session {
 public:
  Session(const std::vector<Timed>& rows, const Repeats& repeats) {
    for (const auto& row : rows) add(row, repeats);
  }

  ~Session() { benchmark::ClearRegisteredBenchmarks(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Status run(benchmark::BenchmarkReporter& reporter) {
    benchmark::RunSpecifiedBenchmarks(&reporter);
    return failure_;
  }

 private:
  void add(const Timed& row, const Repeats& repeats) {
    const auto time = [this, row](benchmark::State& state) {
      if (row.seconds)
        time_by_itself(state, row, failure_);
      else
        time_by_host(state, row);
      state.SetBytesProcessed(static_cast<std::int64_t>(row.bytes) * state.iterations());
    };
    auto* benchmark = benchmark::RegisterBenchmark(row.name.c_str(), time);
    benchmark->MinTime(repeats.seconds)->Repetitions(repeats.count);
    if (row.seconds)
      benchmark->UseManualTime();
    else
      benchmark->UseRealTime();
  }

  Status failure_;
};

}  // namespace

Result<std::string> timing_table(const std::vector<Timed>& rows, const Repeats& repeats) {
  Session session(rows, repeats);
  Medians medians;
  if (auto status = session.run(medians); !status.ok()) return status;
  const auto seconds = medians.seconds();
  const auto rate = [&](std::size_t i) { return static_cast<double>(rows[i].bytes) / seconds[i] / kGigabyte; };

  std::ostringstream table;
  table << std::fixed << std::setw(20) << "median ms" << std::setw(10) << "GB/s" << std::setw(14) << "of memcpy\n";
  for (std::size_t i = 0; i < rows.size(); ++i)
    table << std::left << std::setw(8) << rows[i].name << std::right << std::setw(12) << std::setprecision(4)
          << seconds[i] / kMillisecond << std::setw(10) << std::setprecision(2) << rate(i) << std::setw(12)
          << std::setprecision(0) << 100 * rate(i) / rate(rows.size() - 1) << "%\n";
  return table.str();
}

Status print_timing_json(const std::vector<Timed>& rows, const Repeats& repeats, const std::string& device) {
  Session session(rows, repeats);
  benchmark::AddCustomContext("ndfold", NDFOLD_VERSION);
  benchmark::AddCustomContext("device", device);
  benchmark::JSONReporter reporter;
  return session.run(reporter);
}

}  // namespace ndfold::cli
