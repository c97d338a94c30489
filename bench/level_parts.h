// The parts of a level, declared in the namespace of the level that is being compiled: NDFOLD_BENCH_LEVEL names it.
#pragma once
#include "bench/level.h"

namespace ndfold::bench::NDFOLD_BENCH_LEVEL {

extern const NamedStream kReads[];
extern const NamedStream kCopies[];
extern const NamedExponential kExponentials[];

void eigen_rows(const DenseProblem&, std::int64_t first, std::int64_t last);
void* make_eigen_tensor(const DenseProblem&, int threads);
void run_eigen_tensor(void*);
void free_eigen_tensor(void*);

}  // namespace ndfold::bench::NDFOLD_BENCH_LEVEL
