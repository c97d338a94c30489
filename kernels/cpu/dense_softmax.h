// Softmax of dense rows: short ones several at a time, those that fit the core's cache with one exponential an element,
// and longer ones folded first and read again.
#pragma once
#include "kernels/cpu/batched_softmax.h"
#include "kernels/cpu/dense_rows.h"
#include "kernels/cpu/long_softmax.h"
#include "kernels/cpu/packed_rows.h"
#include "kernels/cpu/short_rows.h"
#include "kernels/cpu/softmax_fold.h"
#include "kernels/cpu/softmax_pipeline.h"

namespace ndfold::simd {

template <class T, MapKind kMap, int kVectors>
void short_softmax(const Arguments& step, Index first, Index last) {
  const Index n = elements(step.reduced);
  const Axis row = inner(step.kept);
  const bool streams = step.past_caches && row.out == n;
  each_row_group(step.kept, first, last, [&](Index from, Index to, Index rows) {
    const RowGroup<T> group = {elements_at<T>(step.in, from), elements_at<T>(step.out, to), rows, row.in, row.out};
    (streams ? stream_short_rows<T, kMap, kVectors> : map_short_rows<T, kMap, kVectors>)(group, n, step.scale,
                                                                                         step.alpha);
  });
}

/// The same where rows share vectors.
template <class T, MapKind kMap>
void packed_softmax(const Arguments& step, Index first, Index last) {
  each_row_group(step.kept, first, last, [&](Index from, Index to, Index rows) {
    softmax_of_packed_rows<T, kMap>(elements_at<T>(step.in, from), elements_at<T>(step.out, to), rows,
                                    elements(step.reduced), step);
  });
}

template <class T, MapKind kMap, bool kStreams>
[[gnu::noinline]] void batched_softmax(const Arguments& step, Index first, Index last) {
  const Axis row = inner(step.kept);
  each_row_group(step.kept, first, last, [&](Index from, Index to, Index rows) {
    BatchedSoftmax<T, kMap, kStreams>(elements(step.reduced), row.in, step.scale, step.alpha)
        .map(elements_at<T>(step.in, from), elements_at<T>(step.out, to), rows);
  });
}

template <class T, MapKind kMap, bool kStreams>
[[gnu::noinline]] void pipelined_softmax(const Arguments& step, Index first, Index last, NumberOf<T>* powers) {
  using Pipeline = SoftmaxPipeline<T, kMap, kStreams>;
  Pipeline pipeline(step, first, last, powers);
  Odometer kept(step.kept, first);
  const auto row = [&] {
    return typename Pipeline::Row{elements_at<T>(step.in, kept.in()), elements_at<T>(step.out, kept.out())};
  };
  typename Pipeline::Row current = row();
  pipeline.first(current);
  for (Index block = first + 1; block < last; ++block) {
    kept.next();
    pipeline.turn(current = row());
  }
  pipeline.turn(current);
  pipeline.last();
}

template <class T, MapKind kMap, Index kBytes>
[[gnu::noinline]] void waiting_softmax(const Arguments& step, Index first, Index last) {
  alignas(64) NumberOf<T> powers[kBytes / sizeof(NumberOf<T>)];
  (step.past_caches ? pipelined_softmax<T, kMap, true> : pipelined_softmax<T, kMap, false>)(step, first, last, powers);
}

template <class T, MapKind kMap>
void softmax_in_two_reads(const Arguments& step, Index first, Index last) {
  const Index n = elements(step.reduced);
  SoftmaxFold<T> fold(step.scale);
  Odometer kept(step.kept, first);
  for (Index block = first; block < last; ++block, kept.next()) {
    const T* in = elements_at<T>(step.in, kept.in());
    const auto state = dense_state<T>(step, fold, in, 0, n, nullptr, 0);
    map_again<kMap>(step, in, elements_at<T>(step.out, kept.out()), 0, n, state);
  }
}

template <class T, MapKind kMap, bool kStreams>
[[gnu::noinline]] void long_softmax(const Arguments& step, Index first, Index last) {
  LongSoftmax<T, kMap, kStreams> rows(step);
  Odometer kept(step.kept, first);
  for (Index block = first; block < last; ++block, kept.next())
    rows.row(elements_at<T>(step.in, kept.in()), elements_at<T>(step.out, kept.out()));
  rows.last();
}

template <class T, MapKind kMap>
void dense_softmax(const Arguments& step, Index first, Index last) {
  using A = NumberOf<T>;
  [[maybe_unused]] constexpr Index kWidth = kLanes<LanesOf<A>>;
  const Index n = elements(step.reduced), bytes = n * static_cast<Index>(sizeof(A));
  const Axis row = inner(step.kept);
  if (step.reduced.rank <= 1 && step.kept.rank > 0 && are_batched_rows<A>(row, n))
    return (step.past_caches ? batched_softmax<T, kMap, true> : batched_softmax<T, kMap, false>)(step, first, last);
  if (step.reduced.rank <= 1 && n < kLongRow<A>) {
    if (row.in == n && row.out == n && are_packed_rows<T, kMap>(row.size, n, step))
      return packed_softmax<T, kMap>(step, first, last);
    if constexpr (!std::is_same_v<T, double>) {
      if (n <= kWidth) return short_softmax<T, kMap, 1>(step, first, last);
      if (n > 3 * kWidth && n <= 4 * kWidth) return short_softmax<T, kMap, 4>(step, first, last);
    }
    return short_softmax<T, kMap, 0>(step, first, last);
  }
  constexpr Index kFew = 16 << 10;  // most rows need little of the stack
  if constexpr (kRaisesPowers<A>)
    if (bytes > kWaitingBytes && are_long_rows<T>(step))
      return (step.past_caches ? long_softmax<T, kMap, true> : long_softmax<T, kMap, false>)(step, first, last);
  if (bytes > std::min(step.waiting_bytes, kWaitingBytes)) return softmax_in_two_reads<T, kMap>(step, first, last);
  if (bytes > kWaitingInCache) return waiting_softmax<T, kMap, kWaitingBytes>(step, first, last);
  if (bytes > kFew) return waiting_softmax<T, kMap, kWaitingInCache>(step, first, last);
  return waiting_softmax<T, kMap, kFew>(step, first, last);
}

}  // namespace ndfold::simd
