// How many instructions a subject takes.
#pragma once
#include "bench/subject.h"

namespace ndfold::bench {

/// User-space instructions of one run on this thread: by the processor's counter, else by single steps in a copy of
/// this process. Negative where the system allows neither.
double count_instructions(Subject&);

}  // namespace ndfold::bench
