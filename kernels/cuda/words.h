// States that say by themselves whether they are there. A block that waits for a barrier waits until all of its results
// have reached memory; one that looks for words waits for those words alone.
#pragma once
#include <ndfold/travelling.h>

#include "kernels/cuda/dialect.h"
#include "kernels/folds/online_softmax.h"

#include <bit>

namespace ndfold::cuda {

/// {max, sum} in 64 bits, which are written and read at once. A sum of powers has no sign: that bit alternates from one
/// use of a place to the next.
using Word = std::uint64_t;
using WordState = folds::MaxAndSum<float>;
static_assert(sizeof(Word) == kWordBytes);

inline constexpr Word kSignOfSum = Word{1} << 63;

__device__ inline Word word_of(const WordState& state, bool marked) {
  const Word sum = std::bit_cast<std::uint32_t>(state.sum) & 0x7fffffffu, max = std::bit_cast<std::uint32_t>(state.max);
  return sum << 32 | max | (marked ? kSignOfSum : Word{0});
}
__device__ inline bool is_there(Word word, bool marked) { return (word >> 63 != 0) == marked; }
__device__ inline WordState state_of(Word word) {
  return {std::bit_cast<float>(static_cast<std::uint32_t>(word)),
          std::bit_cast<float>(static_cast<std::uint32_t>(word >> 32) & 0x7fffffffu)};
}

/// Of a turn's words.
__device__ inline bool marks_of(int turn) { return turn / kTurnsOfWords % 2 == 0; }

/// Where each group has one tile, its blocks meet at the grid's barrier instead, and words are read after it.
__device__ inline bool meets_once(const Arguments& step) { return step.tiles <= static_cast<Index>(gridDim.y); }

/// Where the blocks of a group leave words each turn for each other. Places of four turns alternate: whoever leaves a
/// word has read all of two turns earlier, which others left after they had read all of two turns before those.
template <int kColumns>
class Mail {
 public:
  __device__ explicit Mail(const Arguments& step)
      : words_(reinterpret_cast<Word*>(step.exchange)), parts_(static_cast<int>(step.parts)), once_(meets_once(step)) {}

  /// Of all parts, one after the other.
  __device__ Word* words(int turn) const {
    return words_ + (static_cast<Index>(turn % kTurnsOfWords) * gridDim.y + blockIdx.y) * parts_ * kColumns;
  }

  __device__ void leave(int turn, int column, const WordState& state) const {
    store_word(mine(turn) + column, word_of(state, marks_of(turn)), once_);
  }
  __device__ Word look(const Word* from) const { return load_word(from, once_); }

  /// Before the first turn: no word is there. All blocks of the grid meet.
  __device__ void clear() const {
    const int lane = thread_of_block();
    if (const int turn = lane / kColumns; turn < static_cast<int>(kTurnsOfWords)) mine(turn)[lane % kColumns] = 0;
    cg::this_grid().sync();
  }

 private:
  __device__ Word* mine(int turn) const { return words(turn) + static_cast<int>(blockIdx.x) * kColumns; }

  Word* words_;
  int parts_;
  bool once_;
};

}  // namespace ndfold::cuda
