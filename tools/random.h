// Data for timing: zeros would flatter a kernel, and NaN or huge numbers would slow it.
#pragma once
#include <ndfold/dtype.h>

#include <cstddef>

namespace ndfold::cli {

/// The same `elements` numbers each time: floats of both signs with 1/8 <= |x| < 4, integers of all sizes, both bools.
void fill_random(DType type, void* data, std::size_t elements);

}  // namespace ndfold::cli
