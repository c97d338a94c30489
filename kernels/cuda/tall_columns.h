// Body columns of a softmax whose panels are more than the registers of a block: those keep as many rows of each slot
// as they have room for, shared memory the others; the blocks of a cluster share a panel's rows. Of packs along one
// axis, in the input and in the output; two blocks share a multiprocessor. See long_lines.h.
#pragma once
#include "kernels/cuda/column_batch.h"
#include "kernels/cuda/kept.h"
#include "kernels/cuda/sharers.h"

namespace ndfold::cuda {

/// Who has all rows of a panel, where no cluster shares them: code that is never run makes kernels slower.
struct OneBlock {
  static constexpr bool kMayBeMany = false;
  __device__ explicit OneBlock(const NearScope&) {}
  __device__ void await_each_other() const {}
};

/// A lane's rows of a panel from number kKept on, which wait in shared memory. It gets back only what it brought there.
/// kTogether: rows that registers have room for at a time.
template <class Source, int kKept, int kTogether>
class RowsBeyond {
  using P = PackOf<Source>;

 public:
  static constexpr int kFirst = kKept;

  __device__ explicit RowsBeyond(int count)
      : count_(count), places_(reinterpret_cast<P*>(shared_memory()) + thread_of_block()) {}

  __device__ void await() const { await_copies<0>(); }
  /// visit(pack) of one after the other, when all are there.
  template <class Visit>
  __device__ void visit(const Visit& visit) const {
    P* place = places_;
#pragma unroll kTogether
    for (int row = kKept; row < count_; ++row, place += threads_of_block()) visit(*place);
  }
  /// What load(row, how many are left) says of some at a time.
  template <class Load>
  __device__ void bring(const Load& load) const {
    P* place = places_;
    for (int row = kKept; row < count_;) {
      const auto some = load(row, count_ - row);
      for (const auto& pack : some.of)
        if (row++ < count_) *place = std::bit_cast<P>(pack), place += threads_of_block();
    }
  }

 private:
  int count_;
  P* places_;
};

/// One row after the other, `apart` elements between them, each found by its number or from the one before.
template <bool kByNumber, class T>
class RowsInTurn {
 public:
  __device__ RowsInTurn(T* first, int row, Index apart)
      : at_(kByNumber ? first : first + row * apart), row_(row), apart_(kByNumber ? apart : bytes_apart<T>(apart)) {}
  __device__ T* next() {
    if constexpr (kByNumber) return at_ + row_++ * apart_;
    T* const now = at_;
    at_ = moved(at_, apart_);
    return now;
  }

 private:
  T* at_;
  int row_;
  Index apart_;  ///< elements, or bytes
};

/// A lane's `count` rows of a panel of rows that are whole packs, every `apart`-th one, and where results go.
template <class Source, class Out>
struct WholeRows {
  using P = PackOf<Source>;
  const typename Source::Element* from;
  Out* to;
  int count, apart;
  const AxisNumbers& rows;

  // From one to the next, made of parameters where they are needed: kept, they would take registers.
  __device__ Index hop() const { return apart * rows.in; }
  __device__ Index out_hop() const { return apart * rows.out; }
  // Of those that wait beyond registers.
  __device__ auto asked(int row) const {
    using Element = typename Source::Element;
    return RowsInTurn<(sizeof(Element) > 2), const Element>(from, row, hop());
  }
  template <class Loaded, int kRows>
  __device__ void load(Loaded (&packs)[kRows]) const {
    const auto* at = from;
    const Index bytes = bytes_apart<typename Source::Element>(hop());
#pragma unroll
    for (int k = 0; k < kRows; ++k, at = moved(at, bytes))
      if (k < count) packs[k] = std::bit_cast<Loaded>(*reinterpret_cast<const P*>(at));
  }
  template <class Beyond>
  __device__ void ask(const Beyond& beyond) const {
    auto turn = asked(Beyond::kFirst);
    beyond.visit([&](P& place) { copy_later(&place, reinterpret_cast<const P*>(turn.next())); });
    end_copies();
  }
  __device__ bool writes() const { return true; }
  __device__ void store(const Pack<Out, Source::kSize>& results, Out* place) const { store_vector(results, place); }
};

/// Where states of columns meet, behind what waits: an area for maxima, one for sums, one for what blocks exchange.
template <class A, int kColumns>
class TallMeeting {
 public:
  /// `waiting`: bytes of what waits.
  __device__ TallMeeting(const ColumnLanes& lanes, int waiting) : lanes_(lanes), areas_(shared_memory() + waiting) {}

  /// Over all lanes of a block with the same columns. kHalf: for maxima, or for sums.
  template <int kHalf, class F>
  __device__ void meet(const F& fold, A (&numbers)[kColumns]) const {
    combine_lanes_of_columns(fold, numbers, lanes_.across);
    if (lanes_.slots() > 1) combine_slots_directly<true>(fold, numbers, lanes_, areas_ + kHalf * half_bytes());
  }

  /// Over the blocks of a cluster, which have all begun, and have read what was exchanged for the panel before: what
  /// powers that are measured from the block's maxima are multiplied with.
  template <class F>
  __device__ void exchange(const F&, A (&maxima)[kColumns], A (&sums)[kColumns], A (&shares)[kColumns]) const {
    using States = StatesOfLane<A, 2 * kColumns>;
    const auto cluster = this_cluster();
    const int blocks = static_cast<int>(cluster.num_blocks()), across = lanes_.across;
    auto* const area = reinterpret_cast<States*>(areas_ + 2 * half_bytes());
    States mine;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      mine.at[c] = maxima[c];
      mine.at[kColumns + c] = sums[c];
    }
    for (int to = lanes_.row(); to < blocks; to += lanes_.rows())  // a lane of the same columns for each block
      cluster.map_shared_rank(
          area, static_cast<unsigned>(to))[static_cast<int>(cluster.block_rank()) * across + lanes_.lane()] = mine;
    cluster.sync();  // every block's states are here
#pragma unroll 1
    for (int block = 0; block < blocks; ++block) {
      const States other = read_state(area + block * across + lanes_.lane());
#pragma unroll
      for (int c = 0; c < kColumns; ++c) maxima[c] = folds::any_maximum(maxima[c], other.at[c]);
    }
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      shares[c] = F::shrink(mine.at[c], maxima[c]);
      sums[c] = 0;
    }
#pragma unroll 1
    for (int block = 0; block < blocks; ++block) {
      const States other = read_state(area + block * across + lanes_.lane());
#pragma unroll
      for (int c = 0; c < kColumns; ++c) sums[c] += other.at[kColumns + c] * F::shrink(other.at[c], maxima[c]);
    }
  }

 private:
  __device__ int half_bytes() const { return lanes_.slots() * lanes_.across * static_cast<int>(sizeof(A[kColumns])); }

  const ColumnLanes& lanes_;
  std::byte* areas_;
};

/// One panel. Rows: where they lie, as WholeRows; Meeting: where their states meet, as TallMeeting.
template <class Map, class Tuning, class Source, class Out, class Blocks, class F, class Rows, class Meeting>
__device__ void map_tall(const Arguments& step, const F& fold, const Blocks& blocks, const Rows& rows,
                         const Meeting& meeting) {
  using A = typename Source::Value;
  using KeptRows = Kept<Source, Tuning::kUnroll>;
  constexpr int kSize = Source::kSize, kRows = Tuning::kUnroll;
  constexpr bool kPowers = std::is_same_v<Map, SoftmaxMap<A>> && std::is_same_v<typename KeptRows::Powers, PowerMap<A>>;
  typename KeptRows::Loaded packs[kRows];
  KeptRows::begin(packs, fold.scale);
  rows.load(packs);
  const RowsBeyond<Source, kRows, Blocks::kMayBeMany ? 1 : 2> beyond(rows.count);
  rows.ask(beyond);
  blocks.await_each_other();
  KeptRows kept;
  kept.keep(packs, rows.count, fold.scale);
  const A scale = kept.scale();
  A maxima[kSize], sums[kSize], shares[kSize];
  kept.maxima(maxima, fold.scale, beyond);
  const auto number = [&](const PackOf<Source>& pack, int c) {
    return KeptRows::as_kept(number_of<Source>(pack, c), fold.scale);
  };
  meeting.template meet<0>(fold.pivot_fold(), maxima);
  kept.template sums_of_powers<kPowers>(maxima, sums);
  beyond.visit([&](const PackOf<Source>& pack) {
#pragma unroll
    for (int c = 0; c < kSize; ++c) sums[c] += Exponent<A>::of(maxima[c], scale).power(number(pack, c));
  });
  meeting.template meet<1>(folds::Sum<A>(), sums);
#pragma unroll
  for (int c = 0; c < kSize; ++c) shares[c] = 1;
  if constexpr (Blocks::kMayBeMany) meeting.exchange(fold, maxima, sums, shares);
  Map maps[kSize];
#pragma unroll
  for (int c = 0; c < kSize; ++c) {
    maps[c] = Map({maxima[c], sums[c]}, scale, static_cast<A>(step.alpha));
    if constexpr (kPowers) shares[c] *= maps[c].factor;
  }
  if (!rows.writes()) return;
  Out* place = rows.to;
  const Index out_bytes = bytes_apart<Out>(rows.out_hop());
#pragma unroll
  for (int k = 0; k < kRows; ++k, place = moved(place, out_bytes)) {
    Pack<Out, kSize> results;
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      if constexpr (kPowers)
        results.at[c] = to_element<Out>(kept.number(k, c) * shares[c]);
      else
        results.at[c] = to_element<Out>(maps[c](kept.number(k, c)));
    }
    if (k < rows.count) rows.store(results, place);
  }
  // By their number f32 [64,1000,1001] in clusters takes 151 us, 164 from each other; [512,131071] in blocks 173 and
  // 164.
  constexpr bool kByNumber = sizeof(Out) > 2 && Blocks::kMayBeMany;
  RowsInTurn<kByNumber, Out> turn(kByNumber ? rows.to : place, kByNumber ? kRows : 0, rows.out_hop());
  beyond.visit([&](const PackOf<Source>& pack) {
    Pack<Out, kSize> results;
#pragma unroll
    for (int c = 0; c < kSize; ++c) results.at[c] = to_element<Out>(maps[c](number(pack, c)));
    rows.store(results, turn.next());
  });
}

/// Bytes of what waits of a panel beyond registers, kRows a lane.
template <class Source, int kRows>
__device__ int bytes_beyond(const Arguments& step, int slots) {
  const int rows = static_cast<int>(step.part) - kRows * slots;
  return rows > 0 ? rows * step.lanes * static_cast<int>(sizeof(PackOf<Source>)) : 0;
}

/// Blocks: OneBlock, or Sharers<Tuning> of a cluster.
template <class Source, class F, class Sink, class Blocks, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    tall_columns(const __grid_constant__ Arguments step) {
  using A = typename Source::Value;
  using Out = typename Sink::Out;
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  const ColumnLanes lanes(step, false);
  const Blocks blocks{NearScope(step)};
  const AxisNumbers& rows = step.walk.near[0];
  const int slots = lanes.rows(), begin = static_cast<int>(blockIdx.x * step.part), row = begin + lanes.row();
  const int end =
      begin + step.part < step.reduced ? begin + static_cast<int>(step.part) : static_cast<int>(step.reduced);
  const int of_slot = row < end ? (end - row + slots - 1) / slots : 0;
  for (Index tile = blockIdx.y; tile < step.tiles; tile += gridDim.y) {
    const auto panel = panel_of<Source::kSize>(step, tile, lanes);
    if (tile == blockIdx.y) {
      if (has_few_blocks()) ask_for_rows<Source, Tuning::kUnroll>(step, panel, {begin, end, lanes.row(), slots});
      await_launch_before(panel.in, panel.out, of_slot);
    }
    const WholeRows<Source, Out> mine{
        reinterpret_cast<const typename Source::Element*>(step.in) + panel.in + row * rows.in,
        reinterpret_cast<Out*>(step.out) + panel.out + row * rows.out, panel.low < panel.high ? of_slot : 0, slots,
        rows};
    const TallMeeting<A, Source::kSize> meeting(lanes, bytes_beyond<Source, Tuning::kUnroll>(step, slots));
    if (step.map == MapKind::softmax)
      map_tall<SoftmaxMap<A>, Tuning, Source, Out>(step, fold, blocks, mine, meeting);
    else
      map_tall<LogSoftmaxMap<A>, Tuning, Source, Out>(step, fold, blocks, mine, meeting);
  }
}

}  // namespace ndfold::cuda
