// What becomes of finished states: results in the output's type, or the states themselves for a later step.
#pragma once
#include "kernels/cpu/convert.h"
#include "kernels/cpu/odometer.h"
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

/// Whether results go past the caches: they are many beside the elements. Sums of 64 MiB of f32 on a Zen 4, rows of 8,
/// 12, 16, 17: 0.69, 0.73, 0.64, 0.76 of a stream through them, 0.79, 0.78, 0.83, 0.82 past them.
inline bool streams_results(const Arguments& step) {
  constexpr Index kMany = 32;  // bytes that are read for one that is written
  const auto bytes = [](DType type) { return static_cast<Index>(size_bytes(type)); };
  return step.past_caches && step.sink == SinkKind::store &&
         elements(step.reduced) * bytes(step.input) <= kMany * bytes(step.output);
}

/// Whether results lie in the output as they are.
template <class Result>
bool are_output(DType type) {
  if constexpr (std::is_integral_v<Result> && sizeof(Result) == 8)
    return type == DType::i64 || type == DType::u64;  // sums are exact modulo 2^64
  else
    return type == kTypeOf<Result>;
}

/// Results to neighbouring addresses, past the caches as far as they fill lines.
template <class A>
void stream_run(A* to, Index n, const A* from) {
  using Words = Lanes<float>;  // whatever they are, they are copied
  Index i = 0;
  for (; i < n && !begins_line(to + i); ++i) to[i] = from[i];
  for (; i + kLineBytes / Index{sizeof(A)} <= n;)
    for (const Index end = i + kLineBytes / Index{sizeof(A)}; i < end; i += Index{sizeof(Words) / sizeof(A)}) {
      Words some;
      std::memcpy(&some, from + i, sizeof some);
      stream(reinterpret_cast<float*>(to + i), some);
    }
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
      if constexpr (std::is_arithmetic_v<Result>)
        if (to.stream && to.out_stride == 1 && are_output<Result>(step.output)) {
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
