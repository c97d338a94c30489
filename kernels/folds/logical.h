// count_nonzero, any and all. Elements arrive as bytes that are 0 or not.
#pragma once
#include "kernels/folds/fold.h"

#include <cstdint>

namespace ndfold::folds {

template <class V>
struct CountNonzero {
  using Value = V;
  using State = std::uint64_t;
  ND_HD State identity() const { return 0; }
  ND_HD State map(V x, Index) const { return x != 0; }
  ND_HD State combine(State a, State b) const { return a + b; }
  ND_HD State finalize(State s, Index) const { return s; }
};

template <class V>
struct Any : CountNonzero<V> {
  ND_HD bool finalize(std::uint64_t s, Index) const { return s != 0; }
};

template <class V>
struct All : CountNonzero<V> {
  ND_HD bool finalize(std::uint64_t s, Index n) const { return s == static_cast<std::uint64_t>(n); }
};

}  // namespace ndfold::folds
