// The verbs of the command line: each adds its options to a parser and says what to do once they are read.
#pragma once
#include <ndfold/status.h>

#include <CLI/CLI.hpp>

#include <functional>

namespace ndfold::cli {

/// What a verb does when its options have been parsed. Results go to stdout or to the file that the user named.
using Action = std::function<Status()>;

Action add_softmax(CLI::App& verb);
Action add_log_softmax(CLI::App& verb);
Action add_reduce(CLI::App& verb);
Action add_permute(CLI::App& verb);
Action add_explain(CLI::App& verb);
Action add_info(CLI::App& verb);
Action add_devices(CLI::App& verb);
Action add_bench(CLI::App& verb);

struct Verb {
  const char* name;
  const char* help;
  Action (*add)(CLI::App&);
};

/// In the order of --help.
inline constexpr Verb kVerbs[] = {
    {"softmax", "Softmax of an array over any of its axes", add_softmax},
    {"log-softmax", "Logarithm of the softmax, computed without its rounding errors", add_log_softmax},
    {"reduce", "Sum, mean, max, argmax, … over any axes of an array", add_reduce},
    {"permute", "Put the axes of an array in another order", add_permute},
    {"explain", "What a plan would do and why, without any data; also for GPUs that are not here", add_explain},
    {"info", "Shape, type and memory order of an .npy file", add_info},
    {"devices", "What ndfold knows of this CPU, of the GPUs that are here, and of those it can plan for", add_devices},
    {"bench", "Time a plan on random data, beside a memcpy of the same size", add_bench},
};

}  // namespace ndfold::cli
