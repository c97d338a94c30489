// Softmax of dense rows: short ones several at a time, those that fit the core's cache with one exponential an element,
// and longer ones folded first and read again.
#pragma once
#include "kernels/cpu/batched_softmax.h"
#include "kernels/cpu/dense_rows.h"
#include "kernels/cpu/packed_rows.h"
#include "kernels/cpu/short_rows.h"
#include "kernels/cpu/softmax_fold.h"
#include "kernels/cpu/softmax_pipeline.h"

namespace ndfold::simd {

/// Powers of one row wait on the stack. Up to a quarter of it they, the row itself and the next stay in an L2 of 1 MiB;
/// longer ones come from the last cache, which a step may say costs more than powers made twice ([64,262144] f32 on a
/// Zen 4: 6.5 ms in two reads, 5.1 so; elements/ns of [16,262144] on a Xeon: 2.9 in two reads, 1.9 so).
inline constexpr Index kWaitingBytes = 1 << 20, kWaitingInCache = 256 << 10;

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

/// Results of the dense run of n elements at x, made from the row's state. What was read last is read first: some of it
/// is still in a cache.
template <MapKind kMap, bool kStreams, class T, class A = NumberOf<T>>
void map_run_again(const T* x, T* to, Index n, A scale, const Normalizer<A>& by) {
  using Again = std::conditional_t<kMap == MapKind::softmax, ResultAgain<A>, Result<kMap, A>>;
  constexpr Index kBlock = (16 << 10) / sizeof(T), kPiece = 4 * kTurn<A>;
  const Again result(scale, by);
  const Index head = kStreams ? std::min(unaligned_elements(to), n) : 0;
  for (Index i = head + (n - head) / kBlock * kBlock; i >= head; i -= kBlock) {
    const Index count = std::min(kBlock, n - i);
    for (Index piece = 0; piece < count; piece += kPiece) {
      for (Index line = 0; line < kPiece * static_cast<Index>(sizeof(T)); line += 64)
        ask_early(reinterpret_cast<const char*>(x + i + piece - kBlock) + line);
      write_results<kStreams>(x + i + piece, to + i + piece, std::min(kPiece, count - piece), result);
    }
  }
  write_results<false>(x, to, head, result);
  if constexpr (kStreams) finish_streaming();
}

/// Elements [begin, end) of a dense row, made from its state.
template <MapKind kMap, class T, class A = NumberOf<T>>
void map_again(const Arguments& step, const T* in, T* out, Index begin, Index end, const Normalizer<A>& by) {
  const Axis run = inner(step.reduced);
  const auto map = step.past_caches ? map_run_again<kMap, true, T> : map_run_again<kMap, false, T>;
  Odometer lines(outer(step.reduced), begin / run.size);
  for (Index position = begin % run.size, left = end - begin; left > 0; position = 0, lines.next()) {
    const Index n = std::min(run.size - position, left);
    map(in + lines.in() + position, out + lines.out() + position, n, static_cast<A>(step.scale), by);
    left -= n;
  }
}

template <class T, MapKind kMap>
void softmax_in_two_reads(const Arguments& step, Index first, Index last) {
  using A = NumberOf<T>;
  const Index n = elements(step.reduced);
  SoftmaxFold<T> fold(step.scale);
  Odometer kept(step.kept, first);
  for (Index block = first; block < last; ++block, kept.next()) {
    const T* in = elements_at<T>(step.in, kept.in());
    const auto state = dense_state<T>(step, fold, in, 0, n, nullptr, 0);
    map_again<kMap>(step, in, elements_at<T>(step.out, kept.out()), 0, n, normalizer<A>(kMap, state, step.alpha));
  }
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
  if (bytes > std::min(step.waiting_bytes, kWaitingBytes)) return softmax_in_two_reads<T, kMap>(step, first, last);
  if (bytes > kWaitingInCache) return waiting_softmax<T, kMap, kWaitingBytes>(step, first, last);
  if (bytes > kFew) return waiting_softmax<T, kMap, kWaitingInCache>(step, first, last);
  return waiting_softmax<T, kMap, kFew>(step, first, last);
}

}  // namespace ndfold::simd
