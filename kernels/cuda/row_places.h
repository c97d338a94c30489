// Where rows of columns lie along several axes: looked up, for to walk those axes took more than to fold four floats.
#pragma once
#include "kernels/cuda/odometer.h"

namespace ndfold::cuda {

struct RowPlace {
  int in, out;
};

/// Of a block's first part, if its step has room for them.
class RowPlaces {
 public:
  __device__ explicit RowPlaces(const Arguments& step) : begin_(blockIdx.x * step.part) {
    if (step.row_places == 0) return;
    places_ = reinterpret_cast<RowPlace*>(shared_memory() + step.row_places);
    const Index rest = step.reduced - begin_, rows = rest < step.part ? rest : step.part;
    for (int row = thread_of_block(); row < rows; row += threads_of_block()) {
      const Offsets at = offsets(step, step.walk, begin_ + row);
      places_[row] = {static_cast<int>(at.in), static_cast<int>(at.out)};
    }
    const auto block = cg::this_thread_block();
    block.sync();  // where all rows of the part lie is there
  }

  /// Of rows from `begin` on; null where nobody looked them up.
  __device__ const RowPlace* from(Index begin) const { return begin == begin_ ? places_ : nullptr; }

 private:
  Index begin_;
  RowPlace* places_ = nullptr;
};

/// Where rows are a sum apart, or wait.
struct NoRowPlaces {
  __device__ explicit NoRowPlaces(const Arguments&) {}
  __device__ const RowPlace* from(Index) const { return nullptr; }
};

}  // namespace ndfold::cuda
