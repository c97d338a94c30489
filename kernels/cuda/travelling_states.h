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
  static constexpr int kTimes = kIsRow ? 1 : kColumns / kWarp;      // columns of a lane that reads
  static constexpr int kLoads = kIsRow || kTimes > 1 ? 4 : 8;       // words of a column at a time
  static constexpr int kOfWarp = kWarp / kWarps;                    // columns whose states a warp combines at once
  static constexpr int kPitch = pitch_of_states(kWarps, kColumns);  // between the states of one warp and of the next
  static_assert(kWarps <= kWarp && (kIsRow || kColumns % kWarp == 0) && kOfWarp * kWarps == kWarp);

 public:
  static constexpr Index kBytes = travelling_states_bytes(kWarps * kWarp, kColumns);

  explicit __device__ TravellingStates(const Arguments& step) : mail_(step), parts_(static_cast<int>(step.parts)) {}

  __device__ void clear() const { mail_.clear(); }

  /// Of a column of a warp.
  __device__ static void put(int column, const WordState& state) { of_warps()[warp() * kPitch + column] = state; }

  /// The block's states, to all blocks.
  __device__ void leave(int turn) const {
    if (!kIsRow || warp() == kWarps - 1)
      combine_warps(of_warps(), [&](int column, const WordState& state) { mail_.leave(turn, column, state); });
  }

  /// Words of a lane as they are now: asked for early, they are there when they are needed.
  struct Words {
    Word at[kTimes][kLoads] = {};
  };
  __device__ Words look(int turn) const {
    Words words;
    if (reads()) load(turn, first_part(), words);
    return words;
  }

  /// Waits for what was not there yet.
  __device__ void read(int turn, const Words& words) const {
    if (!reads()) return;
    WordState states[kTimes];
    await(turn, words, states);
    if constexpr (kIsRow) {
      const WordState whole = over_lanes(states[0], kWarp);
      if (lane_of_warp() == 0) *of_tile() = whole;
    } else {
#pragma unroll
      for (int t = 0; t < kTimes; ++t) as_read()[warp() * kPitch + t * kWarp + lane_of_warp()] = states[t];
    }
  }

  /// After another barrier: what make(state) makes of the whole, of a lane's columns, of which place(c) says where they
  /// were put. Of columns, all lanes meet once more, and each is made once.
  template <class Map, int kStates, class Make, class Place>
  __device__ void whole(Map (&maps)[kStates], const Make& make, const Place& place) const {
    if constexpr (kIsRow) {
      maps[0] = make(read_state(of_tile()));
    } else {
      struct alignas(kMapBytes) Made {
        Map map;
      };
      static_assert(sizeof(Made) == kMapBytes);
      auto* const places = reinterpret_cast<Made*>(of_tile());
      combine_warps(as_read(), [&](int column, const WordState& state) { places[column].map = make(state); });
      const auto block = cg::this_thread_block();
      block.sync();  // the whole is there
#pragma unroll
      for (int c = 0; c < kStates; ++c) maps[c] = places[place(c)].map;
    }
  }

 private:
  static constexpr int kMapBytes = 2 * sizeof(WordState);
  static constexpr WordState kNothing{-folds::kInfinity<float>, 0};

  __device__ static int warp() { return thread_of_block() / kWarp; }
  __device__ static WordState* of_tile() { return reinterpret_cast<WordState*>(shared_memory()); }
  __device__ static WordState* of_warps() { return of_tile() + (kIsRow ? 1 : 2) * kColumns; }
  __device__ static WordState* as_read() { return of_warps() + kWarps * kPitch; }

  // Of lanes that differ in the bits below `to`.
  __device__ static WordState over_lanes(const WordState& state, int to) {
    const float max = meet_lanes(state.max, 1, to, [](float a, float b) { return folds::maximum(a, b); });
    const float sum = state.sum * Exponent<float>::shrink(state.max, max);
    return {max, meet_lanes(sum, 1, to, [](float a, float b) { return a + b; })};
  }

  // Neighbouring lanes take a column's states of all warps.
  template <class Take>
  __device__ static void combine_warps(const WordState* area, const Take& take) {
    const int of = lane_of_warp() % kWarps, first = kIsRow ? 0 : warp() * kOfWarp + lane_of_warp() / kWarps;
    const bool counts = !kIsRow || lane_of_warp() < kWarps;
#pragma unroll
    for (int column = first; column < first + kTimes * kWarp; column += kWarp) {
      const WordState state =
          over_lanes(counts ? read_state(area + of * kPitch + column) : kNothing, kIsRow ? kWarp : kWarps);
      if (counts && of == 0) take(column, state);
    }
  }

  __device__ static bool reads() { return !kIsRow || warp() == 0; }
  __device__ static int first_part() { return kIsRow ? lane_of_warp() : warp(); }

  // Calls visit(i) for a lane's parts from `part` on. Where parts are few, the warp leaves early: most are not there.
  template <class Visit>
  __device__ void each_part(int part, const Visit& visit) const {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      if (i % 2 == 0 && i > 0 && part - (kIsRow ? lane_of_warp() : 0) + i * kHop >= parts_) break;
      if (part + i * kHop < parts_) visit(i);
    }
  }

  __device__ void load(int turn, int part, Words& words) const {
    const Word* const from = mail_.words(turn) + part * kColumns + (kIsRow ? 0 : lane_of_warp());
    each_part(part, [&](int i) {
#pragma unroll
      for (int t = 0; t < kTimes; ++t) words.at[t][i] = mail_.look(from + i * kHop * kColumns + t * kWarp);
    });
  }
  __device__ bool are_there(const Words& words, int part, bool marked) const {
    bool all = true;
    each_part(part, [&](int i) {
#pragma unroll
      for (int t = 0; t < kTimes; ++t) all = all && is_there(words.at[t][i], marked);
    });
    return all;
  }

  // Adds a lane's words of a column.
  __device__ void add(const Word (&words)[kLoads], int part, WordState& state) const {
    float max = state.max;
    each_part(part, [&](int i) { max = folds::maximum(max, state_of(words[i]).max); });
    state.sum *= Exponent<float>::shrink(state.max, max);
    each_part(part, [&](int i) {
      const WordState theirs = state_of(words[i]);
      state.sum += theirs.sum * Exponent<float>::shrink(theirs.max, max);
    });
    state.max = max;
  }

  // A lane's share of all parts' states. All lanes wait for all: apart, they would not come together soon again.
  __device__ void await(int turn, Words words, WordState (&states)[kTimes]) const {
    const auto warp_of_lanes = cg::tiled_partition<kWarp>(cg::this_thread_block());
    const bool marked = marks_of(turn);
#pragma unroll
    for (WordState& state : states) state = kNothing;
#pragma unroll 1
    for (int before = 0; before < parts_; before += kLoads * kHop) {
      const int part = before + first_part();
      if (before > 0) load(turn, part, words);
      while (!warp_of_lanes.all(are_there(words, part, marked))) load(turn, part, words);
#pragma unroll
      for (int t = 0; t < kTimes; ++t) add(words.at[t], part, states[t]);
    }
  }

  Mail<kColumns> mail_;
  int parts_;
};

}  // namespace ndfold::cuda
