// Two functions timed side by side with Google Benchmark: the work, and a memcpy to hold it against.
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

void register_row(const Timed& row, const Repeats& repeats) {
  const auto time = [row](benchmark::State& state) {
    for ([[maybe_unused]] auto iteration : state) row.run();
    state.SetBytesProcessed(static_cast<std::int64_t>(row.bytes) * state.iterations());
  };
  benchmark::RegisterBenchmark(row.name.c_str(), time)
      ->UseRealTime()
      ->MinTime(repeats.seconds)
      ->Repetitions(repeats.count);
}

}  // namespace

std::string timing_table(const std::vector<Timed>& rows, const Repeats& repeats) {
  for (const auto& row : rows) register_row(row, repeats);
  Medians medians;
  benchmark::RunSpecifiedBenchmarks(&medians);
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

void print_timing_json(const std::vector<Timed>& rows, const Repeats& repeats) {
  for (const auto& row : rows) register_row(row, repeats);
  benchmark::AddCustomContext("ndfold", NDFOLD_VERSION);
  benchmark::JSONReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
}

}  // namespace ndfold::cli
