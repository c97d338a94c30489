// Columns that are not finite: what they hold, for tests of several kernels.
#pragma once
#include "tests/simt/simulate.h"

#include <limits>

namespace simt {

/// Which columns have one infinity, one -infinity, and nothing but that.
struct NotFinite {
  ndfold::Index infinite, less, nothing;
};

/// Puts them into [rows, columns], and numbers that are none before and behind all others.
inline void set_not_finite(ndfold::test::Array& in, ndfold::Index rows, ndfold::Index columns, const NotFinite& which) {
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
  in.set(0, kNaN);
  in.set(columns * (rows / 2) + which.infinite, kInf);
  in.set(columns * (rows - 1) + which.less, -kInf);
  for (ndfold::Index row = 0; row < rows; ++row) in.set(row * columns + which.nothing, -kInf);
  in.set(rows * columns - 1, -kNaN);
}

}  // namespace simt
