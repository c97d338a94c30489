// States of rows that travel, on their way from warps to all blocks of a group and back.
#pragma once
#include "kernels/cuda/combine_rows.h"
#include "kernels/cuda/softmax_fold.h"
#include "kernels/cuda/words.h"

namespace ndfold::cuda {

/// Of a block's kWarps warps. A turn: put, a barrier, leave and, of a turn that others left, read; a barrier, whole.
template <int kWarps>
class TravellingStates {
  static constexpr int kLoads = 4;  // words of a lane at a time
  static_assert(kWarps <= kWarp);

 public:
  static constexpr Index kBytes = (kWarps + 1) * sizeof(WordState);

  explicit __device__ TravellingStates(const Arguments& step) : mail_(step), parts_(static_cast<int>(step.parts)) {}

  __device__ void clear() const { mail_.clear(); }

  /// Of a warp.
  __device__ static void put(const WordState& state) {
    if (lane_of_warp() == 0) of_warps()[warp()] = state;
  }

  /// The block's state, to all blocks. One warp does that; another looks and reads.
  __device__ void leave(int turn) const {
    if (warp() != kWarps - 1) return;
    const int lane = lane_of_warp();
    const WordState mine = over_lanes(lane < kWarps ? read_state(of_warps() + lane) : kNothing);
    if (lane == 0) mail_.leave(turn, mine);
  }

  /// Words of a lane as they are now: asked for early, they are there when they are needed.
  struct Words {
    Word at[kLoads] = {};
  };
  __device__ Words look(int turn) const {
    Words words;
    if (warp() == 0) load(turn, lane_of_warp(), words);
    return words;
  }

  /// Waits for what was not there yet.
  __device__ void read(int turn, const Words& words) const {
    if (warp() != 0) return;
    const WordState whole = over_lanes(await(turn, words));
    if (lane_of_warp() == 0) *of_row() = whole;
  }

  __device__ static WordState whole() { return read_state(of_row()); }

 private:
  static constexpr WordState kNothing{-folds::kInfinity<float>, 0};

  __device__ static int warp() { return thread_of_block() / kWarp; }
  __device__ static WordState* of_warps() { return reinterpret_cast<WordState*>(shared_memory()); }
  __device__ static WordState* of_row() { return of_warps() + kWarps; }

  // Where a maximum is -inf its sum is 0 or NaN, so that equal maxima need no care.
  __device__ static WordState over_lanes(const WordState& state) {
    const float max = meet_lanes(state.max, 1, kWarp, [](float a, float b) { return folds::maximum(a, b); });
    const float sum = state.sum * Exponent<float>::shrink(state.max, max);
    return {max, meet_lanes(sum, 1, kWarp, [](float a, float b) { return a + b; })};
  }

  __device__ void load(int turn, int part, Words& words) const {
    const Word* const from = mail_.words(turn) + part;
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
      if (part + i * kWarp < parts_) words.at[i] = load_word(from + i * kWarp);
  }
  __device__ bool are_there(const Words& words, int part, bool marked) const {
    bool all = true;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) all = all && (part + i * kWarp >= parts_ || is_there(words.at[i], marked));
    return all;
  }

  // A lane's share of all parts' states. All lanes wait for all: apart, they would not come together soon again.
  __device__ WordState await(int turn, Words words) const {
    const auto warp_of_lanes = cg::tiled_partition<kWarp>(cg::this_thread_block());
    const bool marked = Mail::marks(turn);
    WordState state = kNothing;
#pragma unroll 1
    for (int before = 0; before < parts_; before += kLoads * kWarp) {
      const int part = before + lane_of_warp();
      if (before > 0) load(turn, part, words);
      while (!warp_of_lanes.all(are_there(words, part, marked))) load(turn, part, words);
      WordState theirs[kLoads];
      float max = state.max;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        theirs[i] = part + i * kWarp < parts_ ? state_of(words.at[i]) : kNothing;
        max = folds::maximum(max, theirs[i].max);
      }
      state.sum *= Exponent<float>::shrink(state.max, max);
#pragma unroll
      for (int i = 0; i < kLoads; ++i)
        if (before + i * kWarp < parts_) state.sum += theirs[i].sum * Exponent<float>::shrink(theirs[i].max, max);
      state.max = max;
    }
    return state;
  }

  Mail mail_;
  int parts_;
};

}  // namespace ndfold::cuda
