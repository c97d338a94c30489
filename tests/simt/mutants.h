// Kernels with one thing wrong each (mutate.py), and which case shows it.
#pragma once
#include "kernels/cuda/dialect.h"
#include "kernels/folds/arg_extremum.h"

#include <span>
#include <string_view>

namespace simt {

struct MutantTuning {
  static constexpr int kThreads = 1024, kUnroll = 4, kBlocks = 1;
};

struct TravellingTuning {
  static constexpr int kThreads = 512, kUnroll = 8, kBlocks = 1;
};

struct KeptTuning {
  static constexpr int kThreads = 512, kUnroll = 16, kBlocks = 1;
};

struct TallTuning {
  static constexpr int kThreads = 512, kUnroll = 6, kBlocks = 1;
};

struct Mutant {
  std::string_view name, kind;
  ndfold::cuda::Kernel kernel;
};

std::span<const Mutant> mutants();

}  // namespace simt
