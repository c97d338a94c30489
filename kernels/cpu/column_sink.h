// Where the states of columns go: lanes of them become numbers, which a caller takes or the step's sink does.
#pragma once
#include "kernels/cpu/column_leaf.h"
#include "kernels/cpu/column_walk.h"
#include "kernels/cpu/sink.h"

namespace ndfold::simd {

/// A callable for the states of `count` columns, `first` and on in their block. By reference and of one type: what
/// makes them is compiled once for all who take them.
template <class Number>
class Take {
 public:
  template <class Work>
  Take(const Work& work)
      : work_(&work), call_([](const void* to, Index first, Index count, const Number* states) {
          (*static_cast<const Work*>(to))(first, count, states);
        }) {}
  void operator()(Index first, Index count, const Number* states) const { call_(work_, first, count, states); }

 private:
  const void* work_;
  void (*call_)(const void*, Index, Index, const Number*);
};
/// Calls take(first, count, numbers) with the states of `columns` columns, some at a time.
template <class V, class Number, class State>
void each_number(const State* states, Index columns, const Take<Number>& take) {
  constexpr Index kWidth = kLanes<V>, kAtOnce = 256;
  if constexpr (kWidth == 1) {
    take(Index{0}, columns, states);
  } else if constexpr (std::is_same_v<State, V>) {
    const Number* all = reinterpret_cast<const Number*>(states);
    const Index whole = columns / kWidth * kWidth, last = ColumnPlace<V>::first(whole / kWidth, columns);
    if (whole > 0) take(Index{0}, whole, all);
    if (whole < columns) take(whole, columns - whole, all + whole + (whole - last));
  } else {
    Number all[kAtOnce + kWidth];
    for (Index at = 0; at < columns; at += kAtOnce) {
      const Index count = std::min(kAtOnce, columns - at), groups = ColumnPlace<V>::groups(count);
      for (Index g = 0; g < groups; ++g) {
        const Index group = at / kWidth + g, lane = group * kWidth - ColumnPlace<V>::first(group, columns);
        Number some[kWidth];
        spread<ScalarOf<V>>(states[group], some);
        std::copy(some + lane, some + kWidth, all + g * kWidth);
      }
      take(at, count, all);
    }
  }
}

/// Hands the states of columns, `first` and on in their block, to the sink.
template <class NumberFold>
void sink_columns(const Arguments& step, const NumberFold& fold, const ColumnBlock& block, Index first, Index columns,
                  const typename NumberFold::State* states) {
  sink_states(step, fold, states, columns,
              {.out = advance(block.out, step.output, first * block.column.out),
               .out_stride = block.column.out,
               .block = block.state(step, first),
               .block_stride = ColumnBlock::state_pitch(step),
               .stream = streams_results(step)});
}

}  // namespace ndfold::simd
