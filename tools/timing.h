// Functions timed side by side with Google Benchmark: the work, and a memcpy to hold it against.
#pragma once
#include <ndfold/dtype.h>
#include <ndfold/status.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace ndfold::cli {

/// Something to time, and the bytes that one run cannot avoid to read and write.
struct Timed {
  std::string name;
  std::function<void()> run;  ///< by the host's clock
  std::size_t bytes = 0;
  std::function<Result<double>()> seconds = {};  ///< in place of `run`: does `runs` of them, by a clock of its own
  Index runs = 1;
};

struct Repeats {
  int count = 7;         ///< measurements, of which the median is told
  double seconds = 0.1;  ///< that each lasts at least
};

/// A small table of medians; the last of `rows` is what shares refer to.
/// @return the error of the first row whose clock gave one.
Result<std::string> timing_table(const std::vector<Timed>& rows, const Repeats& repeats);

/// Google Benchmark's JSON on stdout: every measurement, their medians and this machine; `device` is where rows ran.
Status print_timing_json(const std::vector<Timed>& rows, const Repeats& repeats, const std::string& device);

}  // namespace ndfold::cli
