// What a careful user of Eigen writes by hand: one row at a time, the row in cache. Few uses of exp in this file: from
// some number on gcc 12 calls Eigen's exponential for each packet, which costs a third.
#include "bench/level_parts.h"

#include <Eigen/Core>
#include <cmath>

namespace ndfold::bench::NDFOLD_BENCH_LEVEL {
namespace {

using Row = Eigen::Map<const Eigen::ArrayXf>;
using OutRow = Eigen::Map<Eigen::ArrayXf>;

void softmax(const Row& x, OutRow out) {
  out = (x - x.maxCoeff()).exp();
  out *= 1.f / out.sum();
}

float logsumexp(const Row& x) {
  const float most = x.maxCoeff();
  return most + std::log((x - most).exp().sum());
}

}  // namespace

void eigen_rows(const DenseProblem& problem, std::int64_t first, std::int64_t last) {
  const std::int64_t length = problem.sizes[problem.rank - 1];
  const auto* in = static_cast<const float*>(problem.in);
  auto* out = static_cast<float*>(problem.out);
  for (std::int64_t i = first; i < last; ++i) {
    const Row row(in + i * length, length);
    switch (problem.op) {
      case kLogsumexp: out[i] = logsumexp(row); break;
      case kSoftmax: softmax(row, OutRow(out + i * length, length)); break;
      case kLogSoftmax: OutRow(out + i * length, length) = row - logsumexp(row); break;
      default: break;
    }
  }
}

}  // namespace ndfold::bench::NDFOLD_BENCH_LEVEL
