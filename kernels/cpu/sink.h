// What becomes of finished states: results in the output's type, or the states themselves for a later step.
#pragma once
#include "kernels/cpu/convert.h"
#include "kernels/cpu/stream.h"
#include "kernels/folds/fold.h"

#include <algorithm>
#include <cstring>

namespace ndfold::simd {

/// Where the results of consecutive outputs go, or, from index `block` on, their partial states.
struct Places {
  std::byte* out;
  Index out_stride;
  Index block, block_stride;
  bool stream = false;  // results past the caches; the caller calls finish_streams()
};

/// Results to neighbouring addresses, past the caches as far as they fill lines.
template <class A>
void stream_run(A* to, Index n, const A* from) {
  constexpr Index kWidth = kLanes<Lanes<A>>;
  Index i = 0;
  for (; i < n && !begins_line(to + i); ++i) to[i] = from[i];
  for (; i + kLineBytes / Index{sizeof(A)} <= n;)
    for (const Index end = i + kLineBytes / Index{sizeof(A)}; i < end; i += kWidth)
      stream(to + i, load<Lanes<A>>(from + i));
  for (; i < n; ++i) to[i] = from[i];
}

template <FinalFold F>
void sink_states(const Arguments& step, const F& fold, const typename F::State* states, Index count, const Places& to) {
  using State = typename F::State;
  if (step.sink == SinkKind::store_state) {
    std::byte* at = step.out + to.block * static_cast<Index>(sizeof(State));
    if (to.block_stride == 1) {
      std::memcpy(at, states, static_cast<std::size_t>(count) * sizeof(State));
      return;
    }
    for (Index i = 0; i < count; ++i, at += to.block_stride * static_cast<Index>(sizeof(State)))
      std::memcpy(at, states + i, sizeof(State));
    return;
  }
  using Result = decltype(fold.finalize(*states, step.count));
  if constexpr (!requires(Result result) { result.max; }) {
    constexpr Index kAtOnce = 256;
    Result results[kAtOnce];
    for (Index first = 0; first < count; first += kAtOnce) {
      const Index n = std::min(kAtOnce, count - first);
      if (step.repeat == 1)  // a loop of its own: lanes take several
        for (Index i = 0; i < n; ++i) results[i] = fold.finalize(states[first + i], step.count);
      else
        for (Index i = 0; i < n; ++i)
          results[i] = fold.finalize(repeated(fold, states[first + i], step.repeat), step.count);
      if constexpr (requires { states->index; })
        for (Index i = 0; i < n; ++i) results[i] += step.index_offset;
      std::byte* at = advance(to.out, step.output, first * to.out_stride);
      if constexpr (std::is_floating_point_v<Result>)
        if (to.stream && to.out_stride == 1 && step.output == kTypeOf<Result>) {
          stream_run(reinterpret_cast<Result*>(at), n, results);
          continue;
        }
      store_run(step.output, at, to.out_stride, n, results);
    }
  }
}

/// The place of the result that is `out` elements further on.
inline std::byte* place_of(const Arguments& step, Index out) { return advance(step.out, step.output, out); }

template <FinalFold F>
void sink_state(const Arguments& step, const F& fold, typename F::State state, Index out, Index block) {
  sink_states(step, fold, &state, 1, {.out = place_of(step, out), .out_stride = 1, .block = block, .block_stride = 1});
}

}  // namespace ndfold::simd
