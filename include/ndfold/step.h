// The treaty between deciding and doing: a step names its kernel by value and carries plain numbers.
// No pointer, no stream, no device type: steps print, compare and can be made for a machine that is not here.
#pragma once
#include <ndfold/dtype.h>

#include <array>
#include <string_view>
#include <vector>

namespace ndfold {

/// One canonical axis. On a reduced axis that is not written (a reduction), `out` is 0; for argmax and argmin it is the
/// axis's weight in the row-major index that is returned.
struct Axis {
  Index size = 1;
  Index in = 0;   ///< input stride, in elements
  Index out = 0;  ///< output stride, in elements
  friend bool operator==(const Axis&, const Axis&) = default;
};

/// How lanes are assigned to data. A new body needs a new assignment; all else is a parameter.
enum class Body : std::uint8_t {
  rows,         ///< lanes along a reduced axis; fold, then sink
  columns,      ///< lanes along a kept axis; fold, then sink
  elementwise,  ///< out = map(in, value of its output): the middle of the softmax chain
  permute,      ///< out[…] = in[…], tiled when their inner axes differ
};

/// The monoid that folds elements; kernels/folds has one text for each.
enum class FoldKind : std::uint8_t {
  none,
  sum,
  compensated_sum,
  prod,
  mean,
  compensated_mean,
  max,
  min,
  var,
  std_dev,
  any,
  all,
  count_nonzero,
  argmax,
  argmin,
  sumsq,
  l1,
  l2,
  linf,
  logsumexp,
  softmax,  ///< {max, Σ exp(x - max)}: what softmax and log_softmax need to know of a row
};

/// Whether an element's number belongs to the state.
constexpr bool folds_an_index(FoldKind fold) { return fold == FoldKind::argmax || fold == FoldKind::argmin; }

/// What an elementwise step computes from x, the value v (or the softmax state {max, sum}) of its output, and alpha.
enum class MapKind : std::uint8_t {
  none,
  scale,         ///< alpha · x
  subtract,      ///< x - v
  exponential,   ///< exp(x)
  divide,        ///< alpha · x / v
  subtract_log,  ///< alpha · (x - log v)
  softmax,       ///< alpha · exp(scale · x - max) / sum
  log_softmax,   ///< alpha · (scale · x - max - log sum)
};

/// How a fold gets its elements.
enum class SourceKind : std::uint8_t {
  dense,    ///< lanes read neighbours: vector loads
  strided,  ///< lanes read every n-th element
  joined,   ///< columns: lanes read along rows that follow one another
  states,   ///< the partial states of an earlier step, merged rather than mapped
};

/// What happens with a finished state.
enum class SinkKind : std::uint8_t {
  store,        ///< finalize and write one element
  store_state,  ///< write the state itself, for a later step
  softmax,      ///< map the same elements with it and write them
  log_softmax,
};

/// Whether the elements that were folded are mapped and written.
constexpr bool maps_elements(SinkKind sink) { return sink == SinkKind::softmax || sink == SinkKind::log_softmax; }

/// Who folds one output together.
enum class Scope : std::uint8_t { lanes, block, cluster, grid };

/// Where elements wait between the fold and the map of a softmax.
enum class Residency : std::uint8_t {
  none /* read again */,
  registers,
  shared,
  cluster,
  ring /* of shared memory, through which later tiles come too */,
  output,
  scratch /* a core's */
};

/// The numbers that a tuning row decides.
struct Tuning {
  int threads = 1;         ///< of a block
  int lanes_per_row = 1;   ///< rows: lanes that share a row; columns of few rows: of a block, those that share a column
  int vector_bytes = 16;   ///< of one load
  int unroll = 1;          ///< independent loads in flight a lane; rows that lanes take at a time, when they share none
  int panel_bytes = 0;     ///< columns: contiguous bytes of kept axis that a block takes
  int cluster_blocks = 1;  ///< blocks of a cluster
  friend bool operator==(const Tuning&, const Tuning&) = default;
};

/// The kernel, by value: executors look it up in their catalog.
struct KernelKey {
  Body body = Body::rows;
  FoldKind fold = FoldKind::none;
  MapKind map = MapKind::none;
  DType input = DType::f32;       ///< of elements; of the folded elements when the source is states
  DType accumulate = DType::f32;  ///< of states and of arithmetic
  DType output = DType::f32;
  SourceKind source = SourceKind::dense;
  SinkKind sink = SinkKind::store;
  Scope scope = Scope::block;
  Residency residency = Residency::none;
  Tuning tuning = {};
  friend bool operator==(const KernelKey&, const KernelKey&) = default;
};

/// A buffer of a schedule: the caller's input or output, or a place in the workspace.
struct Buffer {
  enum class Place : std::uint8_t { none, input, output, workspace };
  Place place = Place::none;
  Index offset_bytes = 0;  ///< within the workspace
  friend bool operator==(const Buffer&, const Buffer&) = default;
};

/// The geometry of one launch. On a CPU a block is a unit of work for one core.
struct Launch {
  std::array<Index, 3> grid = {1, 1, 1};
  int block = 1;
  int cluster = 1;
  Index shared_bytes = 0;
  bool cooperative = false;
  int grid_barriers = 0;
  friend bool operator==(const Launch&, const Launch&) = default;
};

/// Scope::grid. Blocks of one y are a group and take a tile (an output, or a panel of them) together, so a launch of
/// fewer groups than tiles has several turns. `exchange` then begins with a line of kCounterBytes a group; after these
/// come the states, by turn (two alternate), group, part and column of the tile. No content that they had before
/// matters.
inline constexpr Index kCounterBytes = 128;
constexpr Index exchange_turns(Index tiles, Index groups) { return tiles > groups ? 2 : 1; }
constexpr Index exchange_counter_bytes(Index tiles, Index groups) {
  return tiles > groups ? groups * kCounterBytes : 0;
}

/// One launch. A fold visits `kept` outputs × `reduced` elements, both in row-major order of their axes (last is
/// fastest). With `parts` > 1 each output is folded by that many blocks of `part` consecutive elements; state p of
/// output k then goes to index k · parts + p, or to p · outputs + k where `outputs_side_by_side`.
struct Step {
  KernelKey kernel = {};
  std::vector<Axis> kept = {};
  std::vector<Axis> reduced = {};
  Index in_offset = 0;                ///< in elements, from the buffer's start
  Index out_offset = 0;               ///< in elements, from the buffer's start
  Index index_offset = 0;             ///< argmax, argmin: added to every index (axes that were flipped)
  Index part = 0;                     ///< reduced elements of one block
  Index parts = 1;                    ///< blocks that share an output
  bool outputs_side_by_side = false;  ///< CPU, columns: states of a part are one run of memory
  Index repeat = 1;                   ///< every element stands for this many equal ones (stride-0 reduced axes)
  Index count = 0;                    ///< n of finalize: elements behind one output, repeats included
  Index ddof = 0;
  double scale = 1;  ///< on elements as they are read
  double alpha = 1;  ///< on elements as they are written
  Buffer in = {}, out = {};
  Buffer values = {};    ///< elementwise: one value or state an output, row-major over `kept`
  Buffer exchange = {};  ///< Scope::grid: where blocks that share outputs leave states (exchange_turns() below)
  Launch launch = {};
  double bytes_read = 0;  ///< fewest possible
  double bytes_written = 0;
  friend bool operator==(const Step&, const Step&) = default;
};

std::string_view name(Body);
std::string_view name(FoldKind);
std::string_view name(MapKind);
std::string_view name(SourceKind);
std::string_view name(SinkKind);
std::string_view name(Scope);
std::string_view name(Residency);

}  // namespace ndfold
