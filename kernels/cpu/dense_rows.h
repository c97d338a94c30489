// Rows whose runs lie side by side, in a type that lanes load: what the fast ways of a softmax ask for.
#pragma once
#include "kernels/cpu/convert.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/odometer.h"

#include <algorithm>

namespace ndfold::simd {

/// Runs shorter than this pay more for their ends than lanes win.
inline constexpr Index kShortestDenseRun = 32;

/// A negative scale turns the maximum into a minimum, which nobody looks for here.
inline bool has_dense_input(const Arguments& step) {
  const Axis run = inner(step.reduced);
  return run.in == 1 && run.size > 0 && step.scale >= 0 && (step.reduced.rank <= 1 || run.size >= kShortestDenseRun);
}

/// work(T()) for elements of `type` that lanes of A are loaded from and stored to; false when there are none.
template <class A, class Work>
bool visit_elements(DType type, Work&& work) {
  if (type == kTypeOf<A>) return work(A()), true;
  if constexpr (std::is_same_v<A, float> && kHasElementLanes<Half>) {
    if (type == DType::f16) return work(Half()), true;
    if (type == DType::bf16) return work(Bfloat16()), true;
  }
  return false;
}

/// The same for a dense input that is computed in A.
template <class A, class Work>
bool visit_dense(const Arguments& step, Work&& work) {
  return has_dense_input(step) && visit_elements<A>(step.input, work);
}

/// The same where the output is dense too, and of the input's type.
template <class A, class Work>
bool visit_dense_map(const Arguments& step, Work&& work) {
  return inner(step.reduced).out == 1 && step.output == step.input && visit_dense<A>(step, work);
}

/// work(in_offset, out_offset, rows) for outputs [first, last), as many at a time as lie along the innermost kept axis.
template <class Work>
void each_row_group(AxisList kept, Index first, Index last, Work&& work) {
  Stretches groups(kept, first);
  for (Index left = last - first; left > 0;) {
    const auto group = groups.next(left);
    work(group.in, group.out, group.count);
    left -= group.count;
  }
}

template <class T>
const T* elements_at(const std::byte* base, Index offset) {
  return reinterpret_cast<const T*>(base) + offset;
}
template <class T>
T* elements_at(std::byte* base, Index offset) {
  return reinterpret_cast<T*>(base) + offset;
}

}  // namespace ndfold::simd
