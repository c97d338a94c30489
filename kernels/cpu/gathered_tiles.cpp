#include "kernels/cpu/gathered_tiles.h"

namespace ndfold::simd {
namespace {

/// A reduction's axes in ascending order of the indices that argmax and argmin count by.
struct Ascending {
  Axis axes[kMostAxes];
  int rank;
  Index in = 0, index = 0;  // of the first row

  explicit Ascending(AxisList reduced) : rank(reduced.rank) {
    std::copy_n(reduced.axes, rank, axes);
    for (int i = 0; i < rank; ++i) {
      Axis& axis = axes[i];
      if (axis.out >= 0) continue;
      in += (axis.size - 1) * axis.in, index += (axis.size - 1) * axis.out;
      axis.in = -axis.in, axis.out = -axis.out;
    }
    std::sort(axes, axes + rank, [](const Axis& a, const Axis& b) { return a.out > b.out; });
  }
  AxisList list() const { return {axes, rank}; }
  /// Whether the next row always has the next index.
  bool count_rows() const {
    Index rows = 1;
    for (int i = rank; i-- > 0; rows *= axes[i].size)
      if (axes[i].out != rows) return false;
    return true;
  }
};

/// Where a tile's rows are, from its first element on.
struct TileRows {
  Index in[TileShape::kMostRows], out[TileShape::kMostRows];
  bool asks[TileShape::kMostRows];  // for lines that those before did not ask for
  Index first_index = 0;

  explicit TileRows(const Arguments& step) {
    const Ascending ascending(step.reduced);
    const bool maps = maps_elements(step.sink);
    if (!maps) first_index = ascending.index;
    take(maps ? step.reduced : ascending.list(), maps ? 0 : ascending.in, static_cast<Index>(size_bytes(step.input)));
  }

 private:
  void take(AxisList axes, Index first, Index bytes) {
    Odometer row(axes);
    const Index line = kLineBytes / bytes;
    Index asked = 0;
    for (Index r = 0; r < elements(axes); ++r, row.next()) {
      in[r] = first + row.in(), out[r] = row.out();
      asks[r] = r == 0 || std::abs(in[r] - asked) >= line;
      if (asks[r]) asked = in[r];
    }
  }
};

class GatheredTiles {
 public:
  explicit GatheredTiles(const Arguments& step)
      : step_(step),
        shape_(step),
        in_bytes_(static_cast<Index>(size_bytes(step.input))),
        out_bytes_(static_cast<Index>(size_bytes(step.output))),
        pitch_(shape_.inside * shape_.step_of_cut + kApart),
        rows_(step),
        from_(tile_axes(), in_bytes_, shape_.granule, [](const Axis& axis) { return axis.in; }),
        to_(tile_axes(), out_bytes_, shape_.granule, [](const Axis& axis) { return axis.out; }),
        maps_(maps_elements(step.sink)),
        direct_(!maps_ && to_.are_one_run()) {}

  void run(Index first, Index last) {
    Odometer outer({step_.kept.axes, std::max(shape_.cut, 0)}, first / shape_.tiles_of_cut);
    Index part = first % shape_.tiles_of_cut;
    const Axis cut = shape_.cut < 0 ? Axis{.size = 1, .in = 0, .out = 0} : step_.kept.axes[shape_.cut];
    for (Index block = first; block < last; ++block) {
      const Index begin = part * shape_.step_of_cut, count = std::min(shape_.step_of_cut, cut.size - begin);
      tile(outer.in() + begin * cut.in, outer.out() + begin * cut.out, count * shape_.inside,
           shape_.step_of_cut * cut.in * in_bytes_);
      if (++part == shape_.tiles_of_cut) part = 0, outer.next();
    }
  }

 private:
  AxisList tile_axes() {
    const int cut = std::max(shape_.cut, 0);
    std::copy(step_.kept.axes + cut, step_.kept.axes + step_.kept.rank, axes_);
    if (step_.kept.rank > 0) axes_[0].size = shape_.step_of_cut;
    return {axes_, step_.kept.rank - cut};
  }

  void tile(Index in, Index out, Index outputs, Index ahead) {
    const std::byte* const from = step_.in + in * in_bytes_;
    std::byte* const to = step_.out + out * out_bytes_;
    const Index moves = from_.of_outputs(outputs), results = to_.of_outputs(outputs);
    each_few(moves, [&](Index first, Index last) {
      for (Index r = 0; r < shape_.rows; ++r) {
        const std::byte* const row = from + rows_.in[r] * in_bytes_;
        std::byte* const at = together_ + r * pitch_ * in_bytes_;
        rows_.asks[r] ? from_.gather<true>(first, last, row, at, ahead) : from_.gather<false>(first, last, row, at, 0);
      }
    });
    fold(outputs, direct_ ? to : results_);
    if (direct_) return;
    const Index rows = maps_ ? shape_.rows : 1;
    each_few(results, [&](Index first, Index last) {
      for (Index r = 0; r < rows; ++r)
        to_.scatter(first, last, results_ + r * pitch_ * out_bytes_, to + (maps_ ? rows_.out[r] * out_bytes_ : 0));
    });
  }

  // What few moves of all rows read and write stays in the first cache meanwhile.
  template <class Work>
  static void each_few(Index moves, const Work& work) {
    constexpr Index kFew = 32;
    for (Index i = 0; i < moves; i += kFew) work(i, std::min(i + kFew, moves));
  }

  void fold(Index outputs, std::byte* to) {
    constexpr Index kPanelBytes = 4096, kTileBytes = 256;
    const Axis column{.size = outputs, .in = 1, .out = 1};
    const Axis row{.size = shape_.rows, .in = pitch_, .out = maps_ ? pitch_ : 1};
    Arguments tile = step_;
    tile.in = together_, tile.out = to;
    tile.kept = {&column, 1}, tile.reduced = {&row, 1};
    tile.part = shape_.rows, tile.parts = 1, tile.index_offset += rows_.first_index;
    tile.panel = (maps_ ? kTileBytes : kPanelBytes) / in_bytes_;
    tile.residency = maps_ ? Residency::scratch : Residency::none;
    tile.past_caches = tile.from_memory = false;
    step_.of_tiles(tile, 0, column_blocks(tile));
  }

  static constexpr Index kApart = 16;  // elements between rows, that these lie in no power of two

  const Arguments& step_;
  TileShape shape_;
  Index in_bytes_, out_bytes_, pitch_;
  Axis axes_[kMostAxes];
  TileRows rows_;
  TileMoves from_, to_;
  bool maps_, direct_;
  alignas(64) std::byte together_[TileShape::kBytes * 2];
  alignas(64) std::byte results_[TileShape::kBytes * 2];
};

// What a fold does with an element, as far as bringing it together is beside that.
enum class Work { additions, arguments, powers, softmax };

Work work_of(const KernelKey& key, const Arguments& step) {
  if (maps_elements(step.sink)) return Work::softmax;
  if (key.fold == FoldKind::argmax || key.fold == FoldKind::argmin) return Work::arguments;
  return key.fold == FoldKind::logsumexp ? Work::powers : Work::additions;
}

// The widest lines of columns, in elements, that are better brought together where `rows` at most are folded. Measured:
// docs/measurements/cpu-history.md#outputs-in-the-way-of-lanes.
struct WidestLines {
  Work work;
  Index rows, f64, f32, half, integers;
};
constexpr WidestLines kWidestLines[] = {
    {.work = Work::additions, .rows = 8, .f64 = 2, .f32 = 2, .half = 2, .integers = 48},
    {.work = Work::additions, .rows = 32, .f64 = 0, .f32 = 0, .half = 0, .integers = 48},
    {.work = Work::additions, .rows = 1024, .f64 = 7, .f32 = 15, .half = 15, .integers = 32},
    {.work = Work::arguments, .rows = 32, .f64 = 8, .f32 = 8, .half = 8, .integers = 48},
    {.work = Work::arguments, .rows = 1024, .f64 = 9, .f32 = 17, .half = 17, .integers = 48},
    {.work = Work::powers, .rows = 32, .f64 = 8, .f32 = 8, .half = 8, .integers = 0},
    {.work = Work::powers, .rows = 512, .f64 = 9, .f32 = 17, .half = 17, .integers = 0},
    {.work = Work::softmax, .rows = 16, .f64 = 8, .f32 = 32, .half = 9, .integers = 0},
    {.work = Work::softmax, .rows = 1024, .f64 = 5, .f32 = 13, .half = 13, .integers = 0},
};

bool pays(const KernelKey& key, const Arguments& step, Index rows) {
  constexpr Index kMostJoined = 128;  // rows that follow one another are joined: fold_columns.h
  constexpr Index kMostApart = 64;    // of outputs that are no neighbours, a stride and more from row to row
  constexpr Index kWidestTurned = 8;  // of results that are taken apart one by one
  const Work work = work_of(key, step);
  if (work == Work::arguments && !Ascending(step.reduced).count_rows()) return false;
  if (inner(step.kept).in != 1) return key.body == Body::rows && work != Work::softmax && rows <= kMostApart;
  const Index line = inner(step.kept).size;
  if (work == Work::softmax && inner(step.kept).out != 1 && line > kWidestTurned) return false;
  const bool apart = key.body == Body::rows, joins = work == Work::additions || work == Work::arguments;
  if (is_floating(step.input) && !apart && joins && step.reduced.rank == 1 && rows > kMostJoined) return false;
  for (const WidestLines& widest : kWidestLines) {
    if (widest.work != work || rows > widest.rows) continue;
    if (!is_floating(step.input)) return line <= widest.integers;
    const std::size_t bytes = size_bytes(step.input);
    return line <= (bytes == 8 ? widest.f64 : bytes == 4 ? widest.f32 : widest.half);
  }
  return false;
}

// Rows that are runs are read as they lie, but for a softmax's whose results lie the other way, few side by side.
bool have_few_lanes(const Arguments& step, Index rows) {
  constexpr Index kFew = 8, kMostRows = 64;
  return maps_elements(step.sink) && inner(step.reduced).out != 1 && inner(step.kept).size <= kFew && rows <= kMostRows;
}

}  // namespace

void run_gathered(const Arguments& step, Index first, Index last) { GatheredTiles(step).run(first, last); }

bool is_better_gathered(const KernelKey& key, const Arguments& step) {
  constexpr Index kFewestOutputs = 64, kFewestOfTile = 16;
  const bool stores = step.sink == SinkKind::store || maps_elements(step.sink);
  if (key.source == SourceKind::states || !stores || step.parts != 1 || step.kept.rank == 0) return false;
  const Index rows = elements(step.reduced);
  if (rows < 2 || rows > TileShape::kMostRows || elements(step.kept) < kFewestOutputs) return false;
  const TileShape shape(step);
  if (shape.inside * shape.step_of_cut < kFewestOfTile || !shape.spans_words(step)) return false;
  return inner(step.reduced).in == 1 ? have_few_lanes(step, rows) : pays(key, step, rows);
}

}  // namespace ndfold::simd
