// One level's parts, as a table.
#include "bench/level_parts.h"

namespace ndfold::bench::NDFOLD_BENCH_LEVEL {

extern const Level kLevel;
const Level kLevel = {.reads = kReads,
                      .copies = kCopies,
                      .exponentials = kExponentials,
                      .eigen_rows = eigen_rows,
                      .make_eigen_tensor = make_eigen_tensor,
                      .run_eigen_tensor = run_eigen_tensor,
                      .free_eigen_tensor = free_eigen_tensor};

}  // namespace ndfold::bench::NDFOLD_BENCH_LEVEL
