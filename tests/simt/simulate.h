// Runs a plan's steps one after the other on the simulated device, and judges the result as the CPU's tests do.
#pragma once
#include "kernels/cuda/bind.h"
#include "tests/simt/machine.h"
#include "tests/support/compare.h"

namespace simt {

struct Judged {
  std::string failure;                    // of planning, of a launch, or of the result; empty when all is well
  bool refused = false, missing = false;  // the planner said no; the tables lack a kernel
  std::string strategy;
  std::set<Site> barriers;
  bool whole_packs = false, cut_lines = false, cut_runs = false, sectors = false;  // a step went to that kernel
  bool elements = false;
  ndfold::test::Real worst = 0;
};

using Find = ndfold::cuda::Found (*)(const ndfold::KernelKey&, const ndfold::cuda::Layout&);

/// A kernel of the tests' tables, or none.
ndfold::cuda::Found find_kernel(const ndfold::KernelKey& key, const ndfold::cuda::Layout& layout);

/// `out` may be `in` itself.
Judged simulate(const ndfold::test::AnyRequest& request, ndfold::test::Array& in, ndfold::test::Array& out,
                const ndfold::PlanOptions& plan, const Options& options = {}, Find find = find_kernel);

}  // namespace simt
