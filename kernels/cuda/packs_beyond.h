// Packs of a line for which its lanes have no registers: they wait in shared memory from a softmax's fold to its map. A
// lane gets back only what it brought there, so no barrier is needed.
#pragma once
#include "kernels/cuda/lines_together.h"
#include "kernels/cuda/softmax_fold.h"
#include "kernels/cuda/source.h"

namespace ndfold::cuda {

/// A lane's packs of a line from its number kKept on, turned around where the scale is negative.
template <class Source, int kKept>
class PacksBeyond {
  using A = typename Source::Value;
  using P = PackOf<Source>;
  static constexpr int kSize = Source::kSize;

 public:
  /// `are_any`: whether some lane of the block has any.
  __device__ PacksBeyond(const PacksOfLine& mine, bool are_any)
      : first_(mine.at(kKept)),
        lanes_(mine.lanes),
        packs_(are_any ? mine.packs : 0),
        places_(reinterpret_cast<P*>(shared_memory() + kExchangeBytes) + thread_of_block()) {}

  __device__ bool are_any() const { return packs_ > 0; }

  /// Asks for them; `line` begins with the first pack of all.
  __device__ void ask(const P* line) {
    if (!are_any()) return;
    visit([&](int pack, P& place) { copy_later(&place, line + pack); });
    end_copies();
  }
  /// Until they are there.
  __device__ void await(bool turned) {
    if (!are_any()) return;
    await_copies<0>();
    if (turned)
      visit([](int, P& place) {
        P pack = place;
#pragma unroll
        for (int i = 0; i < kSize; ++i) pack.at[i] = negated(pack.at[i]);
        place = pack;
      });
  }

  /// Scaled; -inf where there is none.
  __device__ A maximum(A scale) const {
    A max = -folds::kInfinity<A>;
    visit([&](int, const P& pack) {
#pragma unroll
      for (int i = 0; i < kSize; ++i) max = folds::any_maximum(max, number_of<Source>(pack, i));
    });
    return max == -folds::kInfinity<A> ? max : max * scale;
  }
  __device__ A sum_of_powers(const Exponent<A>& exponent) const {
    A sum = 0;
    visit([&](int, const P& pack) {
      A of_pack = 0;
#pragma unroll
      for (int i = 0; i < kSize; ++i) of_pack += exponent.power(number_of<Source>(pack, i));
      sum += of_pack;
    });
    return sum;
  }
  /// Calls store(results, the pack's number) for map(number) of each. kWarps: all lanes of a warp do, also those that
  /// have no more.
  template <bool kWarps, class Out, class Map, class Store>
  __device__ void map_each(const Map& map, const Store& store) const {
    const P* place = places_;
    for (int pack = first_; pack - (kWarps ? lane_of_warp() : 0) < packs_;
         pack += lanes_, place += threads_of_block()) {
      const P here = !kWarps || pack < packs_ ? *place : P();
      Out results[kSize];
#pragma unroll
      for (int i = 0; i < kSize; ++i) results[i] = to_element<Out>(map(number_of<Source>(here, i)));
      store(results, pack);
    }
  }

 private:
  template <class Visit>
  __device__ void visit(const Visit& visit) const {
    P* place = places_;
    for (int pack = first_; pack < packs_; pack += lanes_, place += threads_of_block()) visit(pack, *place);
  }

  int first_, lanes_, packs_;
  P* places_;
};

}  // namespace ndfold::cuda
