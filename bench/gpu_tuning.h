// What bench/tune.py asks of the tuning tables, which are no public part of the library.
#pragma once
#include "bench/subject.h"

/// The column names of an override file.
extern "C" [[gnu::visibility("default")]] const char* ndfold_bench_tuning_columns();

/// The row of GPU `ordinal`'s built-in table that `strategy` uses for a case, as a line of such a file. 0, or 1 and a
/// sentence in `to`.
extern "C" [[gnu::visibility("default")]] int ndfold_bench_tuning_row(const NdfoldBenchCase* c, int ordinal,
                                                                      const char* strategy, char* to, std::size_t room);

/// Plans from now on use the numbers of this file's text. 0, or 1 and a sentence in `why`.
extern "C" [[gnu::visibility("default")]] int ndfold_bench_use_tuning(const char* text, char* why, std::size_t room);
