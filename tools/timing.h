// Two functions timed side by side with Google Benchmark: the work, and a memcpy to hold it against.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace ndfold::cli {

/// Something to time, and the bytes that it cannot avoid to read and write.
struct Timed {
  std::string name;
  std::function<void()> run;
  std::size_t bytes = 0;
};

struct Repeats {
  int count = 7;         ///< measurements, of which the median is told
  double seconds = 0.1;  ///< that each lasts at least
};

/// A small table of medians; the last of `rows` is what shares refer to.
std::string timing_table(const std::vector<Timed>& rows, const Repeats& repeats);

/// Google Benchmark's JSON on stdout: every measurement, their medians and this machine.
void print_timing_json(const std::vector<Timed>& rows, const Repeats& repeats);

}  // namespace ndfold::cli
