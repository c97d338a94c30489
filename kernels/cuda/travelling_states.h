// States of tiles that travel, on their way from warps to all blocks of a group and back.
#pragma once
#include "kernels/cuda/combine_rows.h"
#include "kernels/cuda/softmax_fold.h"
#include "kernels/cuda/words.h"

namespace ndfold::cuda {

/// Of a block's kWarps warps, which fold kColumns columns each. A turn: put, a barrier, leave and, of a turn that
/// others left, read; a barrier, whole.
template <int kColumns, int kWarps>
class TravellingStates {
  static constexpr bool kIsRow = kColumns == 1;         // then one warp has lanes enough to leave, and one to read
  static constexpr int kHop = kIsRow ? kWarp : kWarps;  // parts between a lane's words
  static constexpr int kLoads = kIsRow ? 4 : 8;         // words of a lane at a time
  static constexpr int kOfWarp = kWarp / kWarps;        // columns whose states a warp combines
  static_assert(kWarps <= kWarp && (kIsRow || kColumns == kWarp) && kOfWarp * kWarps == kWarp);

 public:
  explicit __device__ TravellingStates(const Arguments& step) : mail_(step), parts_(static_cast<int>(step.parts)) {}

  __device__ void clear() const { mail_.clear(); }

  /// Of a column of a warp.
  __device__ static void put(int column, const WordState& state) { of_warps()[warp() * kColumns + column] = state; }

  /// The block's states, to all blocks.
  __device__ void leave(int turn) const {
    if (!kIsRow || warp() == kWarps - 1)
      combine_warps(of_warps(), [&](int column, const WordState& state) { mail_.leave(turn, column, state); });
  }

  /// Words of a lane as they are now: asked for early, they are there when they are needed.
  struct Words {
    Word at[kLoads] = {};
  };
  __device__ Words look(int turn) const {
    Words words;
    if (reads()) load(turn, first_part(), words);
    return words;
  }

  /// Waits for what was not there yet.
  __device__ void read(int turn, const Words& words) const {
    if (!reads()) return;
    const WordState state = await(turn, words);
    if constexpr (kIsRow) {
      const WordState whole = over_lanes(state, kWarp);
      if (lane_of_warp() == 0) *of_tile() = whole;
    } else {
      as_read()[warp() * kColumns + lane_of_warp()] = state;
    }
  }

  /// After another barrier: the whole, of a lane's columns from `first` on. Of columns, all lanes meet once more.
  template <int kStates>
  __device__ void whole(int first, WordState (&states)[kStates]) const {
    if constexpr (!kIsRow) {
      combine_warps(as_read(), [](int column, const WordState& state) { of_tile()[column] = state; });
      const auto block = cg::this_thread_block();
      block.sync();  // the whole is there
    }
#pragma unroll
    for (int c = 0; c < kStates; ++c) states[c] = read_state(of_tile() + first + c);
  }

 private:
  static constexpr WordState kNothing{-folds::kInfinity<float>, 0};

  __device__ static int warp() { return thread_of_block() / kWarp; }
  __device__ static WordState* of_tile() { return reinterpret_cast<WordState*>(shared_memory()); }
  __device__ static WordState* of_warps() { return of_tile() + kColumns; }
  __device__ static WordState* as_read() { return of_warps() + kWarps * kColumns; }

  // Of lanes that differ in the bits below `to`. Where a maximum is -inf its sum is 0 or NaN, so that equal maxima need
  // no care.
  __device__ static WordState over_lanes(const WordState& state, int to) {
    const float max = meet_lanes(state.max, 1, to, [](float a, float b) { return folds::maximum(a, b); });
    const float sum = state.sum * Exponent<float>::shrink(state.max, max);
    return {max, meet_lanes(sum, 1, to, [](float a, float b) { return a + b; })};
  }

  // Neighbouring lanes take a column's states of all warps.
  template <class Take>
  __device__ static void combine_warps(const WordState* area, const Take& take) {
    const int of = lane_of_warp() % kWarps, column = kIsRow ? 0 : warp() * kOfWarp + lane_of_warp() / kWarps;
    const bool counts = !kIsRow || lane_of_warp() < kWarps;
    const WordState state =
        over_lanes(counts ? read_state(area + of * kColumns + column) : kNothing, kIsRow ? kWarp : kWarps);
    if (counts && of == 0) take(column, state);
  }

  __device__ static bool reads() { return !kIsRow || warp() == 0; }
  __device__ static int first_part() { return kIsRow ? lane_of_warp() : warp(); }

  __device__ void load(int turn, int part, Words& words) const {
    const Word* const from = mail_.words(turn) + part * kColumns + (kIsRow ? 0 : lane_of_warp());
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
      if (part + i * kHop < parts_) words.at[i] = load_word(from + i * kHop * kColumns);
  }
  __device__ bool are_there(const Words& words, int part, bool marked) const {
    bool all = true;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) all = all && (part + i * kHop >= parts_ || is_there(words.at[i], marked));
    return all;
  }

  // A lane's share of all parts' states. All lanes wait for all: apart, they would not come together soon again.
  __device__ WordState await(int turn, Words words) const {
    const auto warp_of_lanes = cg::tiled_partition<kWarp>(cg::this_thread_block());
    const bool marked = mail_.marks(turn);
    WordState state = kNothing;
#pragma unroll 1
    for (int before = 0; before < parts_; before += kLoads * kHop) {
      const int part = before + first_part();
      if (before > 0) load(turn, part, words);
      while (!warp_of_lanes.all(are_there(words, part, marked))) load(turn, part, words);
      WordState theirs[kLoads];
      float max = state.max;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        theirs[i] = part + i * kHop < parts_ ? state_of(words.at[i]) : kNothing;
        max = folds::maximum(max, theirs[i].max);
      }
      state.sum *= Exponent<float>::shrink(state.max, max);
#pragma unroll
      for (int i = 0; i < kLoads; ++i)
        if (before + i * kHop < parts_) state.sum += theirs[i].sum * Exponent<float>::shrink(theirs[i].max, max);
      state.max = max;
    }
    return state;
  }

  Mail<kColumns> mail_;
  int parts_;
};

}  // namespace ndfold::cuda
