// tall_columns.h where rows begin anywhere in a sector of memory, in panels that overlap (sector_lane.h). Rows of a
// slot of lanes begin alike in a sector, so that a lane writes all of them or none.
#pragma once
#include "kernels/cuda/load_across.h"
#include "kernels/cuda/sector_lane.h"
#include "kernels/cuda/tall_columns.h"

namespace ndfold::cuda {

/// WholeRows, of which lanes write some, and load packs of those whose packs are all the tensor's.
template <class Source, class Out>
class RowsBySectors : public WholeRows<Source, Out> {
  using Whole = WholeRows<Source, Out>;
  using P = PackOf<Source>;
  using Element = typename Source::Element;

 public:
  __device__ RowsBySectors(const Arguments& step, const SectorLane<Source, Out, true>& lane, int slots, int of_slot)
      : Whole{reinterpret_cast<const Element*>(step.in) + lane.in, reinterpret_cast<Out*>(step.out) + lane.out,
              lane.folds ? of_slot : 0, slots, step.walk.near[0]},
        writes_(lane.writes(lane.in_sector)),
        loads_(loads_of(step, lane)),
        low_(lane.low),
        high_(lane.high) {}

  template <class Loaded, int kRows>
  __device__ void load(Loaded (&packs)[kRows]) const {
    if (loads_ == Loads::packs) return Whole::load(packs);
    const Element* at = this->from;
    const Index bytes = bytes_apart<Element>(this->hop());
    if (loads_ == Loads::across) return load_all_across<Source>(at, bytes, this->count, packs);
#pragma unroll
    for (int k = 0; k < kRows; ++k, at = moved(at, bytes))
      if (k < this->count) packs[k] = std::bit_cast<Loaded>(load_some<Source>(at, low_, high_));
  }
  template <class Beyond>
  __device__ void ask(const Beyond& beyond) const {
    if (loads_ == Loads::packs) return Whole::ask(beyond);
    auto turn = this->asked(Beyond::kFirst);
    if (loads_ == Loads::some)
      beyond.visit([&](P& place) { ask_elements(turn.next(), &place, low_, high_); });
    else if constexpr (sizeof(Element) == sizeof(float))
      beyond.visit([&](P& place) { ask_elements(turn.next(), &place); });
    else
      beyond.bring([&](int row, int left) {
        const Index bytes = this->hop() * Index{sizeof(Element)};
        return load_rows_across<Source>(moved(this->from, row * bytes), bytes, left);
      });
    end_copies();
  }
  __device__ bool writes() const { return writes_; }
  __device__ void store(const Pack<Out, Source::kSize>& results, Out* place) const {
    if (low_ == 0 && high_ == Source::kSize)
      Whole::store(results, place);
    else
      store_elements(results.at, place, 1, low_, high_);
  }

 private:
  /// Whole packs; words that hold them, wherever they begin; or some elements, one by one.
  enum class Loads { packs, across, some };

  __device__ Loads loads_of(const Arguments& step, const SectorLane<Source, Out, true>& lane) const {
    if (step.phase > 0 && !lane.is_whole()) return Loads::some;  // in place, others write what lies around
    const Index hop = this->hop();                               // whole sectors
    if (is_aligned<P>(this->from) && lane.is_within(step, this->count, hop)) return Loads::packs;
    return lane.is_far_within(step, this->count, hop) ? Loads::across : Loads::some;
  }

  static __device__ void ask_elements(const Element* at, P* place) {
#pragma unroll
    for (int c = 0; c < Source::kSize; ++c) copy_later(&place->at[c], at + c);
  }
  // Elements [low, high) of a pack; of 16 bits at once, for no copy is so short. Not inlined: it would take registers.
  [[gnu::noinline]] static __device__ void ask_elements(const Element* at, P* place, int low, int high) {
#pragma unroll
    for (int c = 0; c < Source::kSize; ++c) {
      if (c < low || c >= high)
        place->at[c] = {};
      else if constexpr (sizeof(Element) == sizeof(float))
        copy_later(&place->at[c], at + c);
      else
        place->at[c] = at[c];
    }
  }

  bool writes_;
  Loads loads_;
  int low_, high_;
};

/// Where numbers of columns meet, behind what waits. Each lane leaves its own column by column, for another slot's lane
/// has other columns; `each` neighbouring lanes fold a column of all slots, and every lane reads its columns' wholes.
template <class A, int kColumns, int kBefore>
class SectorMeeting {
 public:
  /// `waiting`: bytes of what waits. `at`: the lane's first column, from the panel's first one on, -kBefore at least.
  __device__ SectorMeeting(const Arguments& step, int at, int waiting)
      : step_(step), at_(kBefore + at), slots_(reinterpret_cast<A*>(shared_memory() + waiting)) {}

  /// Before the first meeting: wholes of columns that nobody wants.
  __device__ void begin() const {
    for (int i = thread_of_block(); i < 3 * pitch(); i += threads_of_block()) wholes(0)[i] = 0;
  }

  /// kHalf: for maxima, or for sums.
  template <int kHalf, class F>
  __device__ void meet(const F& fold, A (&numbers)[kColumns]) const {
    const auto block = cg::this_thread_block();
    A* const mine = slots_ + (thread_of_block() >> step_.lane_bits) * pitch() + at_;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) mine[c] = numbers[c];
    block.sync();
    const int each = 1 << step_.group_bits, column = thread_of_block() >> step_.group_bits;
    const int first = thread_of_block() & (each - 1);
    const A* const from = slots_ + first * pitch() + kBefore + column;
    A whole = 0;
    if (column < wanted()) {
      whole = *from;
      for (int slot = each, end = threads_of_block() >> step_.lane_bits; first + slot < end; slot += each)
        whole = fold.combine(whole, from[slot * pitch()]);
    }
    whole = combine_lanes(fold, whole, 1, each);
    if (first == 0 && column < wanted()) wholes(kHalf)[kBefore + column] = whole;
    block.sync();
    read_wholes(kHalf, numbers);
  }

  /// Over the blocks of a cluster, which have all begun, and have read what was exchanged for the panel before. A lane
  /// merges a column's.
  template <class F>
  __device__ void exchange(const F&, A (&maxima)[kColumns], A (&sums)[kColumns], A (&shares)[kColumns]) const {
    const auto cluster = this_cluster();
    const auto block = cg::this_thread_block();
    const int blocks = static_cast<int>(cluster.num_blocks()), column = thread_of_block();
    A *const max_here = wholes(0) + kBefore + column, *const sum_here = wholes(1) + kBefore + column;
    A* const of_blocks = wholes(2) + kBefore + column;
    const A own = column < wanted() ? *max_here : A(0);
    if (column < wanted())
      for (int to = 0; to < blocks; ++to) {
        A* const there = cluster.map_shared_rank(of_blocks, static_cast<unsigned>(to)) +
                         2 * static_cast<int>(cluster.block_rank()) * pitch();
        there[0] = own;
        there[pitch()] = *sum_here;
      }
    cluster.sync();  // every block's numbers are here
    if (column < wanted()) {
      A max = own, sum = 0;
      for (int from = 0; from < blocks; ++from) max = folds::any_maximum(max, of_blocks[2 * from * pitch()]);
      for (int from = 0; from < blocks; ++from) {
        const A* const there = of_blocks + 2 * from * pitch();
        sum += there[pitch()] * F::shrink(there[0], max);
      }
      *max_here = max;
      *sum_here = sum;
      *of_blocks = F::shrink(own, max);
    }
    block.sync();
    read_wholes(0, maxima);
    read_wholes(1, sums);
    read_wholes(2, shares);
  }

 private:
  __device__ int pitch() const { return kBefore + step_.lanes * kColumns; }
  /// Columns of a panel whose states somebody wants.
  __device__ int wanted() const {
    const int folded = step_.widest_panel + (step_.panels > 1 ? kBefore - 1 : 0), all = step_.lanes * kColumns;
    return folded < all ? folded : all;  // panels that do not overlap are as wide as lanes
  }
  __device__ A* wholes(int which) const { return slots_ + ((threads_of_block() >> step_.lane_bits) + which) * pitch(); }
  __device__ void read_wholes(int which, A (&numbers)[kColumns]) const {
    const A* const mine = wholes(which) + at_;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) numbers[c] = mine[c];
  }

  const Arguments& step_;
  int at_;
  A* slots_;
};

/// Blocks: OneBlock, or Sharers<Tuning> of a cluster.
template <class Source, class F, class Sink, class Blocks, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    tall_sectors(const __grid_constant__ Arguments step) {
  using A = typename Source::Value;
  using Out = typename Sink::Out;
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  const Blocks blocks{NearScope(step)};
  const int slots = threads_of_block() >> step.lane_bits, slot = thread_of_block() >> step.lane_bits;
  const Index begin = blockIdx.x * step.part, end = begin + step.part < step.reduced ? begin + step.part : step.reduced;
  const int count = RowsOfSlot{begin, end, slot, slots}.of_slot();
  const int waiting = bytes_beyond<Source, Tuning::kUnroll>(step, slots);
  constexpr int kSector = static_cast<int>(kSectorBytes / sizeof(Out));
  using MeetingOfPanel = SectorMeeting<A, Source::kSize, kSector>;
  MeetingOfPanel(step, 0, waiting).begin();
  await_launch_before(count);
  for (Index tile = blockIdx.y; tile < step.tiles; tile += gridDim.y) {
    const SectorLane<Source, Out, true> lane(step, tile, begin + slot);
    const RowsBySectors<Source, Out> rows(step, lane, slots, count);
    const MeetingOfPanel meeting(step, lane.at, waiting);
    if (step.map == MapKind::softmax)
      map_tall<SoftmaxMap<A>, Tuning, Source, Out>(step, fold, blocks, rows, meeting);
    else
      map_tall<LogSoftmaxMap<A>, Tuning, Source, Out>(step, fold, blocks, rows, meeting);
  }
}

}  // namespace ndfold::cuda
