// RapidCheck generators of shapes, layouts and sets of axes.
#pragma once
#include "tests/support/views.h"

#include <rapidcheck.h>

#include <ostream>

namespace ndfold::test {

/// A random input: its view, and the axes to fold.
struct Sample {
  ViewDesc view;
  std::vector<int> axes;
  std::uint64_t seed = 0;
};

inline std::ostream& operator<<(std::ostream& stream, const Sample& sample) {
  stream << name(sample.view.dtype) << " [";
  for (const Index size : sample.view.sizes) stream << ' ' << size;
  stream << " ] strides [";
  for (const Index stride : sample.view.strides) stream << ' ' << stride;
  stream << " ] axes {";
  for (const int axis : sample.axes) stream << ' ' << axis;
  return stream << " } seed " << sample.seed;
}

/// Ranks 1 to max_rank with at most a few thousand elements; each axis is reduced or not.
inline rc::Gen<Sample> any_sample(DType type, int max_rank = 6, Index min_size = 1) {
  return rc::gen::exec([=] {
    Sample sample;
    const int rank = *rc::gen::inRange(1, max_rank + 1);
    constexpr Index kLargest[] = {0, 600, 40, 12, 7, 5, 4};
    Sizes sizes;
    for (int axis = 0; axis < rank; ++axis) {
      sizes.push_back(*rc::gen::inRange<Index>(min_size, kLargest[std::min(rank, 6)] + 1));
      if (*rc::gen::arbitrary<bool>()) sample.axes.push_back(axis);
    }
    sample.seed = *rc::gen::inRange<std::uint64_t>(0, 1 << 30);
    const std::vector<Layout> layouts(std::begin(kLayouts), std::end(kLayouts));
    sample.view = lay_out(type, sizes, *rc::gen::elementOf(layouts), sample.seed);
    return sample;
  });
}

}  // namespace ndfold::test
