// What becomes of a finished state: a result in the output's type, or the state itself for a later step.
#pragma once
#include "kernels/cpu/convert.h"
#include "kernels/folds/fold.h"

#include <cstring>

namespace ndfold::simd {

/// `out` is the output's offset in elements; `block` the index of a partial state.
template <FinalFold F>
void sink_state(const Arguments& step, const F& fold, typename F::State state, Index out, Index block) {
  if (step.sink == SinkKind::store_state) {
    std::memcpy(step.out + block * static_cast<Index>(sizeof state), &state, sizeof state);
    return;
  }
  if (step.repeat != 1) state = repeated(fold, state, step.repeat);
  auto result = fold.finalize(state, step.count);
  if constexpr (requires { state.index; }) result += step.index_offset;
  if constexpr (!requires { result.max; }) store_run(step.output, advance(step.out, step.output, out), 1, 1, &result);
}

}  // namespace ndfold::simd
