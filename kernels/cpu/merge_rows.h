// States that earlier blocks left, merged pairwise: of many outputs side by side, so that lanes take several.
#pragma once
#include "kernels/cpu/fold_rows.h"
#include "kernels/cpu/scratch.h"

#include <bit>

namespace ndfold::simd {

/// Trees of many outputs at once, in the order of Tree: binary counters whose digits are arrays of states.
template <Fold F>
class TreesSideBySide {
 public:
  using State = typename F::State;

  /// Outputs whose trees of so many states fit the scratch.
  static Index most(Index states) {
    return std::max<Index>(1, (kScratchBytes - 64 * levels(states)) / levels(states) / Index{sizeof(State)});
  }

  TreesSideBySide(const F& fold, Scratch& scratch, Index states, Index outputs)
      : fold_(fold), outputs_(outputs), digits_(scratch.take<State>(levels(states) * outputs)) {}

  /// The next state of each output: that of output i lies i · stride states further on.
  void push(const std::byte* from, Index stride) {
    State* const next = digit(0) + (pushed_ & 1) * outputs_;
    if (stride == 1)
      std::memcpy(next, from, static_cast<std::size_t>(outputs_) * sizeof(State));
    else
      for (Index i = 0; i < outputs_; ++i)
        std::memcpy(next + i, from + i * stride * Index{sizeof(State)}, sizeof(State));
    int level = 0;
    for (std::uint64_t carry = pushed_; carry & 1; carry >>= 1, ++level)
      combine(digit(level), digit(level) + outputs_, (carry & 2) != 0 ? digit(level + 1) + outputs_ : digit(level + 1));
    ++pushed_;
  }

  const State* result() {
    State* total = nullptr;
    int level = 0;
    for (std::uint64_t rest = pushed_; rest != 0; rest >>= 1, ++level) {
      if ((rest & 1) == 0) continue;
      if (total != nullptr) combine(digit(level), total, digit(level));
      total = digit(level);
    }
    if (total == nullptr) std::fill_n(total = digit(0), outputs_, fold_.identity());
    return total;
  }

 private:
  // Two arrays a level: what is there, and what is carried to it.
  static Index levels(Index states) { return 2 * (std::bit_width(static_cast<std::uint64_t>(states)) + Index{1}); }
  State* digit(int level) { return digits_ + 2 * level * outputs_; }

  void combine(const State* a, const State* b, State* to) {
    for (Index i = 0; i < outputs_; ++i) to[i] = fold_.combine(a[i], b[i]);
  }

  F fold_;
  Index outputs_;
  State* digits_;
  std::uint64_t pushed_ = 0;
};

/// Blocks: output-major, `parts` to an output.
template <template <class> class F, class A>
void merge_rows(const Arguments& step, Index first, Index last) {
  using State = typename F<A>::State;
  const auto fold = make_fold<F<A>>({.scale = step.scale, .ddof = step.ddof});
  const Index reduced = elements(step.reduced), pitch = inner(step.reduced).in, each = std::min(step.part, reduced);
  Index part = first % step.parts;
  Stretches kept(step.kept, first / step.parts);
  const Index most = step.parts > 1 ? 1 : std::min<Index>(256, TreesSideBySide<F<A>>::most(each));
  auto outputs = kept.next(std::min(most, last - first));
  for (Index block = first; block < last;) {
    Scratch scratch;
    TreesSideBySide<F<A>> trees(fold, scratch, each, outputs.count);
    const Index end = std::min((part + 1) * step.part, reduced);
    for (Index i = part * step.part; i < end; ++i)
      trees.push(step.in + (outputs.in + i * pitch) * Index{sizeof(State)}, kept.run().in);
    sink_states(step, fold, trees.result(), outputs.count,
                {.out = place_of(step, outputs.out), .out_stride = kept.run().out, .block = block, .block_stride = 1});
    block += outputs.count;
    if (++part == step.parts) part = 0, outputs = kept.next(std::min(most, last - block));
  }
}

}  // namespace ndfold::simd
