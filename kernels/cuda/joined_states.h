// States of rows that are joined and travel: each of a lane's columns has one, and whoever holds a column lies a few
// lanes apart.
#pragma once
#include "kernels/cuda/combine_rows.h"
#include "kernels/cuda/softmax_fold.h"
#include "kernels/cuda/words.h"

namespace ndfold::cuda {

/// Neighbouring lanes that merge states of a column together, 2^bits of them: as few warps as have work.
class ColumnMergers {
 public:
  __device__ ColumnMergers(int columns, int bits) : columns_(columns), bits_(bits) {}

  __device__ int each() const { return 1 << bits_; }
  __device__ int column() const { return thread_of_block() >> bits_; }
  __device__ int first() const {
    return thread_of_block() & (each() - 1);
  }  ///< which of the column's lanes this one is
  __device__ bool shares() const { return column() < columns_; }
  __device__ bool speaks() const { return shares() && first() == 0; }
  /// Whether some lane of the warp has a column.
  __device__ bool is_busy() const { return (thread_of_block() - lane_of_warp()) >> bits_ < columns_; }

  /// What all lanes of a column have.
  __device__ WordState whole(const WordState& state) const {
    const float max = meet_lanes(state.max, 1, each(), [](float a, float b) { return folds::maximum(a, b); });
    const float sum = state.sum * Exponent<float>::shrink(state.max, max);
    return {max, meet_lanes(sum, 1, each(), [](float a, float b) { return a + b; })};
  }

 private:
  int columns_, bits_;
};

/// Of a block's lanes, kSize columns each. A turn is that of TravellingStates.
template <int kSize, int kThreads>
class JoinedStates {
  static constexpr int kStates = 8, kWords = 5;  // of a lane on their way together: its block's, and others'
  static constexpr int kOfMerger = 16;           // a block's states that one lane merges
  static constexpr int kMadeBytes = 2 * sizeof(WordState);

 public:
  static constexpr Index kBytes = joined_states_bytes(kThreads, kSize);

  explicit __device__ JoinedStates(const Arguments& step)
      : step_(step),
        parts_(static_cast<int>(step.parts)),
        columns_(static_cast<int>(step.lane_axis.size)),
        span_(joined_lanes(kThreads, columns_, kSize) * kSize),
        of_block_(columns_, bits_of_mergers(span_ / kOfMerger / columns_)),
        of_group_(columns_, bits_of_mergers((parts_ + kWords - 1) / kWords)),
        own_(thread_of_block() * kSize % columns_) {}

  /// Before the first turn: no word is there. All blocks of the grid meet.
  __device__ void clear() const {
    const int places = static_cast<int>(kTurnsOfWords) * columns_;
    for (int place = thread_of_block(); place < places; place += kThreads)
      *word(place / columns_, place % columns_, static_cast<int>(blockIdx.x)) = 0;
    cg::this_grid().sync();
  }

  /// Of a column, by how far its element lies behind the first lane's first. Parts begin with the same column, and any
  /// may be called 0.
  __device__ static void put(int place, const WordState& state) { of_lanes()[swizzled(place)] = state; }

  /// The block's states, to all blocks.
  __device__ void leave(int turn) const {
    if (!of_block_.is_busy()) return;
    const int hop = of_block_.each() * columns_;
    WordState state = kNothing;
    if (of_block_.shares())
#pragma unroll 1
      for (int place = of_block_.column() + of_block_.first() * columns_; place < span_; place += kStates * hop) {
        WordState some[kStates];
#pragma unroll
        for (int u = 0; u < kStates; ++u)
          some[u] = place + u * hop < span_ ? read_state(of_lanes() + swizzled(place + u * hop)) : kNothing;
        add(some, state);
      }
    state = of_block_.whole(state);
    if (of_block_.speaks())
      store_word(word(turn, of_block_.column(), static_cast<int>(blockIdx.x)), word_of(state, marks_of(turn)),
                 meets_once(step_));
  }

  /// Words of a lane as they are now: asked for early, they are there when they are needed.
  struct Words {
    Word at[kWords] = {};
  };
  __device__ Words look(int turn) const {
    Words words;
    if (of_group_.is_busy()) load(turn, of_group_.first(), words);
    return words;
  }

  /// Waits for what was not there yet, and leaves what make(state) makes of the whole of each column. All lanes wait
  /// for all: apart, they would not come together soon again.
  template <class Map, class Make>
  __device__ void read(int turn, Words words, const Make& make) const {
    if (!of_group_.is_busy()) return;
    const auto warp_of_lanes = cg::tiled_partition<kWarp>(cg::this_thread_block());
    const bool marked = marks_of(turn);
    WordState state = kNothing;
#pragma unroll 1
    for (int before = 0; before < parts_; before += kWords * of_group_.each()) {
      const int part = before + of_group_.first();
      if (before > 0) load(turn, part, words);
      while (!warp_of_lanes.all(are_there(words, part, marked))) load(turn, part, words);
      WordState some[kWords];
#pragma unroll
      for (int u = 0; u < kWords; ++u) some[u] = has(part, u) ? state_of(words.at[u]) : kNothing;
      add(some, state);
    }
    state = of_group_.whole(state);
    if (of_group_.speaks()) made<Map>()[of_group_.column()].map = make(state);
  }

  /// After another barrier: what was made of a lane's columns.
  template <class Map>
  __device__ void whole(Map (&maps)[kSize]) const {
    int column = own_;
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      maps[c] = made<Map>()[column].map;
      column = column + 1 == columns_ ? 0 : column + 1;
    }
  }

 private:
  static constexpr WordState kNothing{-folds::kInfinity<float>, 0};

  // Of as many lanes as are wanted, or as there are.
  __device__ int bits_of_mergers(int wanted) const {
    int bits = 0;
    while (bits < kWarpBits && 1 << bits < wanted && columns_ << (bits + 1) <= kThreads) ++bits;
    return bits;
  }
  // Neighbouring lanes find other banks, whether they have a pack each or every so many-th state.
  __device__ static int swizzled(int place) { return place ^ (place >> 4 & 15); }

  template <class Map>
  struct alignas(kMadeBytes) Made {
    Map map;
  };
  template <class Map>
  __device__ static Made<Map>* made() {
    static_assert(sizeof(Made<Map>) == kMadeBytes);
    return reinterpret_cast<Made<Map>*>(shared_memory());
  }
  __device__ static WordState* of_lanes() {
    return reinterpret_cast<WordState*>(shared_memory() + kMostColumnsToJoin * kMadeBytes);
  }

  // Of all parts, one after the other, of a column.
  __device__ Word* word(int turn, int column, int part) const {
    const Index group = static_cast<Index>(turn % kTurnsOfWords) * gridDim.y + blockIdx.y;
    return reinterpret_cast<Word*>(step_.exchange) + (group * columns_ + column) * parts_ + part;
  }
  __device__ bool has(int part, int u) const { return of_group_.shares() && part + u * of_group_.each() < parts_; }
  __device__ void load(int turn, int part, Words& words) const {
    const Word* const from = word(turn, of_group_.column(), part);
    const bool once = meets_once(step_);
#pragma unroll
    for (int u = 0; u < kWords; ++u)
      if (has(part, u)) words.at[u] = load_word(from + u * of_group_.each(), once);
  }
  __device__ bool are_there(const Words& words, int part, bool marked) const {
    bool all = true;
#pragma unroll
    for (int u = 0; u < kWords; ++u) all = all && (!has(part, u) || is_there(words.at[u], marked));
    return all;
  }

  // Adds states, measured from a common maximum: seldom is that so huge, or infinite, that it takes more than three
  // instructions each.
  template <int kCount>
  __device__ static void add(const WordState (&some)[kCount], WordState& state) {
    float max = state.max;
#pragma unroll
    for (const WordState& one : some) max = folds::maximum(max, one.max);
    const bool is_nothing = max == -folds::kInfinity<float>;
    if (Exponent<float>::is_ordinary(max) || is_nothing) {
      const Exponent<float> exponent{1, is_nothing ? 0 : max * Exponent<float>::kLog2E};
      state.sum *= exponent.shrink_from(state.max);
#pragma unroll
      for (const WordState& one : some) state.sum += one.sum * exponent.shrink_from(one.max);
    } else {
      state.sum *= Exponent<float>::shrink(state.max, max);
#pragma unroll
      for (const WordState& one : some) state.sum += one.sum * Exponent<float>::shrink(one.max, max);
    }
    state.max = max;
  }

  const Arguments& step_;
  int parts_, columns_;
  int span_;                           // states of all lanes that have packs
  ColumnMergers of_block_, of_group_;  // what a block's lanes hold of a column, and what all blocks left of it
  int own_;                            // the first of a lane's own columns
};

}  // namespace ndfold::cuda
