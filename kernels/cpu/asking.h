// How this machine likes to be read: whether it is asked for elements some time before they are folded.
#pragma once

namespace ndfold::cpu {

/// Not where its own guesses are better than ours. Without asking a Zen 4 folds 64 MiB of f32 in rows of 1000 elements
/// at 36 GB/s instead of 26 (sum) and 37 instead of 23 (max); rows of 8 elements at 29 instead of 22. Where arithmetic
/// keeps memory waiting, as in a softmax, every machine is asked.
extern const bool kAsksAhead;

/// Whether it folds runs from a few places in turns, and is asked for nothing: a Zen 3 (turns.h).
extern const bool kReadsInTurns;

/// Whether it is asked for the rows that come next, line by line into the first cache, where more than an addition is
/// done with each: a Zen 5, whose memory waits for the instructions in between.
extern const bool kAsksForRows;

/// Whether it is asked for what comes from far and in an order that it does not guess: a Zen 4.
inline bool asks_from_far() { return !kAsksAhead && !kReadsInTurns; }

}  // namespace ndfold::cpu
