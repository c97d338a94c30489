// Body rows where all runs are whole packs: where each run begins stands in shared memory, so that a pack costs a few
// instructions however many axes are walked. No pack is cut, and no end is looked for but that of the tile's part.
#pragma once
#include "kernels/cuda/row_batch.h"
#include "kernels/cuda/sinks.h"

namespace ndfold::cuda {

/// Where some of a tile's runs begin, in so many elements from its first one on.
template <int kUnit>
class RunTable {
 public:
  __device__ RunTable() : begins_(reinterpret_cast<int*>(shared_memory() + kExchangeBytes)) {}

  /// This run of the tile's and what follows it, as far as there is room. All threads of a block come together.
  __device__ void hold(const Arguments& step, int first) {
    if (first >= first_ && first < end_) return;
    const auto block = cg::this_thread_block();
    if (end_ > 0) block.sync();  // nobody looks for a run that was here before
    const int all = static_cast<int>(quotient(step.reduced, step.lane_axis.by));
    first_ = first;
    end_ = all - first < kRunsOfTable ? all : first + kRunsOfTable;
    for (int run = first + thread_of_block(); run < end_; run += threads_of_block())
      begins_[run - first] = static_cast<int>(offsets(step, step.walk, run).in / kUnit);
    block.sync();  // where all runs begin is there
  }
  __device__ int first() const { return first_; }
  __device__ int end() const { return end_; }
  /// Of run first() + `run`.
  __device__ int begin(int run) const { return begins_[run]; }

 private:
  int* begins_;
  int first_ = 0, end_ = 0;
};

/// A tile whose runs are whole packs.
template <class SourceOfPacks>
class WholeTile {
 public:
  using Source = SourceOfPacks;
  static constexpr int kSize = Source::kSize, kUnit = kSize;
  template <int kUnroll>
  using Batch = PackBatch<Source, kUnroll>;

  __device__ WholeTile(const Arguments& step, const Offsets& base)
      : from_(reinterpret_cast<const PackOf<Source>*>(reinterpret_cast<const typename Source::Element*>(step.in) +
                                                      base.in)) {}

  template <int kUnroll>
  __device__ Batch<kUnroll> batch(int there) const {
    Batch<kUnroll> batch;
    batch.weight = 0;
    batch.count = there;
    return batch;
  }
  /// Pack number `pack` of the run that begins there.
  __device__ int place(int begin, int pack) const { return begin + pack; }
  template <int kUnroll>
  __device__ void load(Batch<kUnroll>& batch, int u, int place) const {
    batch.packs[u] = from_[place];
    batch.starts[u] = 0;
  }
  template <int kUnroll>
  __device__ void complete(Batch<kUnroll>&) const {}

  /// Calls visit(element's number, its place within the run) for those of a pack of the run that begins there, the last
  /// one first.
  template <class Visit>
  __device__ void visit_backwards(Index begin, int pack, const Visit& visit) const {
    const auto elements = from_[begin / kSize + pack];
#pragma unroll
    for (int i = kSize - 1; i >= 0; --i) visit(number_of<Source>(elements, i), pack * kSize + i);
  }

 private:
  const PackOf<Source>* from_;
};

/// A lane's packs of a part: every `lanes`-th, numbered through all runs of the tile, so many of each.
template <class Tile>
class PacksOfRuns {
  using Table = RunTable<Tile::kUnit>;

 public:
  __device__ PacksOfRuns(Index of_run, const Divider& by, int lane, int lanes)
      : by_(by),
        of_run_(static_cast<int>(of_run)),
        lane_(lane),
        lanes_(lanes),
        runs_further_(static_cast<int>(quotient(lanes, by))),
        packs_further_(lanes - runs_further_ * of_run_) {}

  /// Calls visit(std::bool_constant of whether it is whole, number of its first pack, batch) for batches of the lane's
  /// packs among [begin, end).
  template <int kUnroll, class Visit>
  __device__ void visit(const Arguments& step, Table& table, const Tile& tile, int begin, int end, const Visit& visit) {
    const auto run_of = [&](int pack) { return static_cast<int>(quotient(pack, by_)); };
    const int stride = kUnroll * lanes_;
    for (int at = begin; at < end;) {
      table.hold(step, run_of(at));
      const int known = table.end() * of_run_, last = known < end ? known : end;
      int pack = at + lane_;
      run_ = run_of(pack) - table.first();
      pack_ = pack - (run_ + table.first()) * of_run_;
      at = last;
      for (; pack - lane_ + stride <= last; pack += stride)  // all lanes together: fold_whole_packs()
        visit(std::true_type(), pack, load<true, kUnroll>(table, tile, kUnroll));
      if (pack >= last) continue;
      int there = 1;
#pragma unroll
      for (int u = 1; u < kUnroll; ++u) there += pack + u * lanes_ < last;
      visit(std::false_type(), pack, load<false, kUnroll>(table, tile, there));
    }
  }

  /// Of pack number `pack`: the first of its elements, in the order of the tile, that is the one looked for.
  template <class IsIt>
  __device__ Index find(const Arguments& step, const Tile& tile, int pack, const IsIt& is_it) const {
    Index found = std::numeric_limits<Index>::max();
    const auto run = quotient(pack, by_);
    const Offsets begin = offsets(step, step.walk, run);
    tile.visit_backwards(begin.in, pack - static_cast<int>(run) * of_run_, [&](auto x, int place) {
      if (is_it(x)) found = begin.out + place * step.lane_axis.out;
    });
    return found;
  }

 private:
  // Of packs that are not there, the first once more: a load that is no branch.
  template <bool kAll, int kUnroll>
  __device__ auto load(const Table& table, const Tile& tile, int there) {
    auto batch = tile.template batch<kUnroll>(there);
    const auto first = tile.place(table.begin(run_), pack_);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const bool here = kAll || u < there;
      tile.load(batch, u, u == 0 || !here ? first : tile.place(table.begin(run_), pack_));
      pack_ += packs_further_;
      const bool carry = pack_ >= of_run_;
      if (carry) pack_ -= of_run_;
      run_ += runs_further_ + carry;
    }
    tile.complete(batch);
    return batch;
  }

  Divider by_;
  int of_run_, lane_, lanes_, runs_further_, packs_further_;
  int run_ = 0, pack_ = 0;  // of the next pack: in the table, and in its run
};

/// One pack of a batch, which is there, as a view for fold_plainly().
template <class Batch>
struct PackOfBatch {
  using Element = typename Batch::Element;
  static constexpr int kCount = Batch::kGroup, kGroup = kCount;
  const Batch& batch;
  int first;

  __device__ auto number(int i) const { return batch.number(first + i); }
  __device__ Index index(int) const { return 0; }
  __device__ bool has(int) const { return true; }
  __device__ auto pairs(int) const requires PairedView<Batch> { return batch.pairs(first); }
  __device__ bool belongs(int i) const requires CutView<Batch> { return batch.belongs(first + i); }
};

/// Values of a batch: the best one, and the first pack that has it.
template <class F, class Batch>
class BestOfBatch {
  using Value = typename F::Value;
  static constexpr int kSize = Batch::kGroup, kPacks = Batch::kCount / kSize;

 public:
  template <bool kAll>
  __device__ BestOfBatch(const Batch& batch, std::bool_constant<kAll>) {
    const typename F::Values values;
#pragma unroll
    for (int u = 0; u < kPacks; ++u) {
      const bool here = kAll || batch.has(u * kSize);
      of_pack_[u] = here ? fold_plainly<true>(values, PackOfBatch<Batch>{batch, u * kSize}) : values.identity();
      value_ = u == 0 ? of_pack_[0] : values.combine(value_, of_pack_[u]);
    }
  }
  __device__ Value value() const { return value_; }
  /// -1 where no element belongs.
  __device__ int first_pack(const Batch& batch) const {
    int first = -1;
#pragma unroll
    for (int u = kPacks - 1; u >= 0; --u)
      if (batch.has_some(u) && F::same(of_pack_[u], value_)) first = u;
    return first;
  }

 private:
  Value of_pack_[kPacks], value_;
};

/// The state of a part, whose packs are in some lists, one after the other. An index is looked for when the best value
/// of all is known: in those packs that a lane met it in first.
template <class F, class Scope, class Lists>
__device__ typename F::State fold_lists(const F& fold, const Scope& scope, Lists& lists) {
  if constexpr (ArgFold<F>) {
    const typename F::Values values;
    typename F::Value best[Lists::kLists];
    int pack_of_best[Lists::kLists];
#pragma unroll
    for (int list = 0; list < Lists::kLists; ++list) {
      best[list] = values.identity();
      pack_of_best[list] = -1;
    }
    lists.visit([&]<class Batch>(auto list, auto all, int pack, const Batch& batch) {
      constexpr int kList = decltype(list)::value;
      const BestOfBatch<F, Batch> of_batch(batch, all);
      if (pack_of_best[kList] >= 0 && F::same(values.combine(best[kList], of_batch.value()), best[kList])) return;
      const int first = of_batch.first_pack(batch);
      if (first < 0) return;
      best[kList] = of_batch.value();
      pack_of_best[kList] = pack + first * scope.lanes();
    });
    auto of_all = best[0];
#pragma unroll
    for (int list = 1; list < Lists::kLists; ++list) of_all = values.combine(of_all, best[list]);
    of_all = scope.combine_near(values, of_all);
    Index index = std::numeric_limits<Index>::max();
    lists.each([&](auto list) {
      constexpr int kList = decltype(list)::value;
      if (pack_of_best[kList] < 0 || !F::same(best[kList], of_all)) return;
      index = min_of(index, lists.find(list, pack_of_best[kList], [&](auto x) { return F::same(x, of_all); }));
    });
    return {of_all, scope.combine_near(folds::Min<Index>(), index)};
  } else {
    TreeLevels<F, 1> levels;
    Tree<F, 1> tree(fold, levels);
    lists.visit([&](auto, auto all, int, const auto& batch) {
      push_view<decltype(all)::value, false>(fold, batch, false, tree);
    });
    return scope.combine_near(fold, tree.result());
  }
}

/// Packs [begin, end) of all of a tile's runs.
struct PacksOfPart {
  int begin, end;
};

/// All packs of a part.
template <class Tile, int kUnroll>
class WholeList {
  using First = std::integral_constant<int, 0>;

 public:
  static constexpr int kLists = 1;
  using Table = RunTable<Tile::kUnit>;

  template <class Scope>
  __device__ WholeList(const Arguments& step, const Scope& scope, Table& table, const Offsets& base, Index part)
      : step_(step),
        table_(table),
        tile_(step, base),
        packs_(step.packs_of_run, step.by_packs, scope.lane(), scope.lanes()) {
    const Index begin = part * step.part, end = min_of(begin + step.part, step.reduced);
    part_ = {static_cast<int>(begin / Tile::kSize), static_cast<int>(end / Tile::kSize)};
  }

  template <class Visit>
  __device__ void each(const Visit& visit) const {
    visit(First());
  }
  template <class Visit>
  __device__ void visit(const Visit& visit) {
    packs_.template visit<kUnroll>(step_, table_, tile_, part_.begin, part_.end,
                                   [&](auto all, int pack, const auto& batch) { visit(First(), all, pack, batch); });
  }
  template <class IsIt>
  __device__ Index find(First, int pack, const IsIt& is_it) const {
    return packs_.find(step_, tile_, pack, is_it);
  }

 private:
  const Arguments& step_;
  Table& table_;
  Tile tile_;
  PacksOfRuns<Tile> packs_;
  PacksOfPart part_;
};

/// All tiles, whose parts are `Lists`. Lanes of a tile that is not there fold the first one, so that exchanges find
/// them.
template <class Lists, class F>
__device__ void fold_tiles_of_runs(const Arguments& step) {
  const NearScope scope(step);
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  typename Lists::Table table;
  const Index stride = gridDim.y * scope.tiles_at_once();
  await_launch_before(stride);
  for (Index first = blockIdx.y * scope.tiles_at_once(); first < step.tiles; first += stride)
    for (Index part = blockIdx.x; part < step.parts; part += gridDim.x) {
      const Index tile = scope.tile_of(first);
      const bool live = tile < step.tiles;
      const Offsets base = offsets(step, step.tile, live ? tile : 0);
      Lists lists(step, scope, table, base, part);
      const auto state = fold_lists(fold, scope, lists);
      if (live && scope.speaks()) sink_state(step, fold, state, base.out, tile * step.parts + part);
    }
}

/// Parts begin with whole packs.
template <class Source, class F, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    whole_runs(const __grid_constant__ Arguments step) {
  fold_tiles_of_runs<WholeList<WholeTile<Source>, Tuning::kUnroll>, F>(step);
}

}  // namespace ndfold::cuda
