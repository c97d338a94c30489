// The map that ends a softmax whose results lie across its elements: a tile is mapped along the input, turned next to
// the core, and leaves along the output.
#pragma once
#include "kernels/cpu/column_results.h"
#include "kernels/cpu/odometer.h"
#include "kernels/cpu/sink.h"

namespace ndfold::simd {

/// An axis of a map. `state`: from one state to the next, 0 where the axis is reduced.
struct MappedAxis {
  Index size, in, out, state;
};

/// Along which of a tile's axes states differ.
enum class StatesOf { along, across, both };

/// Blocks: tiles of the axis that is near in the input and the axis that is near in the output, line by line of all
/// others.
class CrossingTiles {
 public:
  static constexpr Index kMostElements = 1 << 16, kMostOfAxis = 2048, kMostStates = 1 << 13;

  explicit CrossingTiles(const Arguments& step) {
    Index states = 1;
    for (int i = step.kept.rank; i-- > 0; states *= step.kept.axes[i].size) add(step.kept.axes[i], states);
    for (int i = step.reduced.rank; i-- > 0;) add(step.reduced.axes[i], 0);
    for (int i = 0; i < count_; ++i) {
      if (axes_[i].in == 1) along_at_ = i;
      if (axes_[i].out == 1) across_at_ = i;
    }
    if (!cross()) return;
    const Index line = kLineBytes / static_cast<Index>(size_bytes(step.output));
    divide(std::all_of(axes_, axes_ + count_, [&](const auto& axis) { return axis.out == 1 || axis.out % line == 0; }));
    blocks_ = along_tiles_ * across_tiles_;
    for (int i = 0; i < count_; ++i)
      if (i != along_at_ && i != across_at_) blocks_ *= axes_[i].size;
  }

  /// Whether both axes are there, two of them, and long enough for tiles.
  bool cross() const {
    constexpr Index kShortest = 4, kFewestOfTile = 64;
    if (along_at_ < 0 || across_at_ < 0 || along_at_ == across_at_) return false;
    const bool are_long = std::min(along().size, across().size) >= kShortest && states() != StatesOf::both;
    return are_long || along().size * across().size >= kFewestOfTile;
  }
  StatesOf states() const {
    if (along().state == 0) return StatesOf::across;
    return across().state == 0 ? StatesOf::along : StatesOf::both;
  }
  const MappedAxis& along() const { return axes_[along_at_]; }
  const MappedAxis& across() const { return axes_[across_at_]; }
  Index blocks() const { return blocks_; }
  Index across_step() const { return across_step_; }
  /// Whether a tile's results are one run of memory.
  bool are_dense() const { return across_tiles_ == 1 && along().out == across().size; }

  struct Place {
    Index in = 0, out = 0, state = 0, along = 0, across = 0;  // offsets of the first element; elements of the tile
  };
  /// Neighbours have the same states, where some have.
  Place place(Index block) const {
    Place at;
    const bool both = states() == StatesOf::both, lines = states() == StatesOf::along;
    if (both) block = move_others(at, block, [](const MappedAxis& axis) { return axis.state == 0; });
    const Index first = lines ? across_tiles_ : along_tiles_, one = block % first, rest = block / first;
    const Index second = lines ? along_tiles_ : across_tiles_, other = rest % second;
    const Index p = (lines ? other : one) * along_step_, q = (lines ? one : other) * across_step_;
    move(at, along(), p), move(at, across(), q);
    at.along = std::min(along_step_, along().size - p);
    at.across = std::min(across_step_, across().size - q);
    move_others(at, rest / second, [&](const MappedAxis& axis) { return !both || axis.state != 0; });
    return at;
  }

 private:
  void add(const Axis& axis, Index state) { axes_[count_++] = {axis.size, axis.in, axis.out, state}; }

  /// Along those of a tile's other axes that are `chosen`; returns what of the block's number is left.
  template <class Chosen>
  Index move_others(Place& at, Index block, const Chosen& chosen) const {
    for (int i = 0; i < count_; ++i) {
      if (i == along_at_ || i == across_at_ || !chosen(axes_[i])) continue;
      move(at, axes_[i], block % axes_[i].size);
      block /= axes_[i].size;
    }
    return block;
  }
  static void move(Place& at, const MappedAxis& axis, Index by) {
    at.in += by * axis.in, at.out += by * axis.out, at.state += by * axis.state;
  }

  // A few lines of memory of each row; runs of the output long enough that their ends, where they part lines, are few.
  void divide(bool by_lines) {
    constexpr Index kAlong = 64, kAcross = 128, kLongRun = 512, kFewest = kMostStates, kWhole = 192;
    const Index wanted = by_lines ? kAcross : kLongRun, all = along().size, few = all <= kWhole ? all : kAlong;
    const Index least = std::max(wanted, kFewest / few);
    const Index most = states() == StatesOf::both ? kMostStates : kMostElements;
    across_step_ = across().size <= std::max(kWhole, least) ? across().size : least;
    across_step_ = std::min({across_step_, kMostOfAxis, most / few});
    along_step_ = std::min({all, std::max(few, kFewest / across_step_ / kAlong * kAlong), kMostOfAxis});
    along_tiles_ = (all + along_step_ - 1) / along_step_;
    across_tiles_ = (across().size + across_step_ - 1) / across_step_;
  }

  MappedAxis axes_[2 * kMostAxes];
  int count_ = 0, along_at_ = -1, across_at_ = -1;
  Index along_step_ = 1, across_step_ = 1, along_tiles_ = 1, across_tiles_ = 1, blocks_ = 0;
};

/// The numbers of a Normalizer of each state of a tile.
template <class A>
struct TileNumbers {
  static constexpr Index kRoom = CrossingTiles::kMostStates + kLanes<LanesOf<A>>;
  alignas(64) A shift[kRoom] = {}, rest[kRoom] = {}, factor[kRoom] = {};
};

/// The states of some lines: that of the first, and of each line how much further.
struct StatesOfLines {
  Index first, pitch;
};

template <MapKind kMap, StatesOf kStates, class T, class A = NumberOf<T>>
class CrossingMap {
  using V = LanesOf<A>;
  static constexpr Index kWidth = kLanes<V>, kPitch = 2 * kWidth;
  static constexpr Index kStrip = 64, kPitchOfStrip = kStrip + kWidth;

 public:
  CrossingMap(const Arguments& step, const CrossingTiles& tiles) : step_(step), tiles_(tiles) {}

  void map(Index first, Index last) {
    CrossingTiles::Place here = tiles_.place(first);
    for (Index block = first; block < last; ++block) {
      const CrossingTiles::Place next = block + 1 < last ? tiles_.place(block + 1) : here;
      take_states(here);
      tile(here, next.in - here.in);
      here = next;
    }
    finish_streams();
  }

 private:
  void take_states(const CrossingTiles::Place& at) {
    const Index along = kStates == StatesOf::across ? 1 : at.along, across = kStates == StatesOf::along ? 1 : at.across;
    const Index count = along * across, beside = is_short() ? across : along;
    if (at.state == state_ && count <= known_) return;
    for (Index i = 0; i < count; ++i) {
      const Index p = is_short() ? i / beside : i % beside, q = is_short() ? i % beside : i / beside;
      const Index state = at.state + q * tiles_.across().state + p * tiles_.along().state;
      MaxAndSum<A> both;
      std::memcpy(&both, step_.values + state * static_cast<Index>(sizeof both), sizeof both);
      by_.shift[i] = both.max, by_.factor[i] = both.sum;
    }
    for (Index i = 0; i < count; i += kWidth) {
      const MaxAndSum<V> states{load<V>(by_.shift + i), load<V>(by_.factor + i)};
      const TileNormalizer<A> by(kMap, &states, 1, step_.alpha);
      store(by_.rest + i, by.rest[0]), store(by_.factor + i, by.factor[0]);
    }
    state_ = at.state, known_ = count;
  }

  void tile(const CrossingTiles::Place& at, Index ahead) {
    const T* const x = reinterpret_cast<const T*>(step_.in) + at.in;
    T* const to = reinterpret_cast<T*>(step_.out) + at.out;
    const Index out = tiles_.along().out;
    if (!step_.past_caches) return turn(at, x, ahead, to, out);
    const Index pitch = tiles_.are_dense() ? out : tiles_.across_step() + kWidth;
    turn(at, x, ahead, turned_, pitch);
    if (tiles_.are_dense()) return stream_run(to, at.along * at.across, turned_);
    for (Index i = 0; i < at.along; ++i) stream_run(to + i * out, at.across, turned_ + i * pitch);
  }

  /// Squares where there are lines enough for them; the last of either axis overlap those before.
  void turn(const CrossingTiles::Place& at, const T* x, Index ahead, T* to, Index pitch) {
    if (is_short()) return short_runs(at, x, ahead, to, pitch);
    constexpr Index kLines = Runs<T>::kMost, kWorthSquares = kLines / 2;
    for (Index q = 0; q < at.across; q += kLines) {
      Index count = std::min(kLines, at.across - q), first = q;
      if (count > kWorthSquares && at.across >= kLines) first = q + count - kLines, count = kLines;
      const T* const lines = x + first * tiles_.across().in;
      if (count == kLines && at.along >= kWidth)
        for (Index p = 0; p < at.along; p += kWidth) {
          const Index here = std::min(p, at.along - kWidth);
          square(lines + here, ahead, states(at, here, first), to + here * pitch + first, pitch);
        }
      else
        for (Index p = 0; p < at.along; p += kStrip)
          strip(lines + p, ahead, states(at, p, first), static_cast<int>(count), std::min(kStrip, at.along - p),
                to + p * pitch + first, pitch);
    }
  }

  /// Whether runs of the input are shorter than lanes: those lie along the output then, and elements turn before they
  /// are mapped.
  bool is_short() const { return tiles_.along().size < kWidth; }

  [[gnu::noinline, gnu::flatten]] void short_runs(const CrossingTiles::Place& at, const T* x, Index ahead, T* to,
                                                  Index pitch) {
    const V one = splat<V>(1), scale = splat<V>(static_cast<A>(step_.scale));
    const Index stride = tiles_.across().in;
    const int length = static_cast<int>(at.along);
    const Index runs_of_line = std::max<Index>(1, kLineBytes / std::max<Index>(1, std::abs(stride) * Index{sizeof(T)}));
    for (Index q = 0; q < at.across; q += kWidth) {
      const int count = static_cast<int>(std::min<Index>(kWidth, at.across - q));
      const T* const runs = x + q * stride;
      for (Index k = 0; k < count; k += runs_of_line)
        prefetch_far(reinterpret_cast<const std::byte*>(runs + k * stride + ahead));
      load_runs_across(runs, stride, count, length, one, one, mapped_, Squares{1, 0, kWidth});
      for (int p = 0; p < length; ++p) {
        const auto numbers = [&](const A* all) __attribute__((always_inline)) {
          if constexpr (kStates == StatesOf::along)
            return splat<V>(all[p]);
          else
            return load<V>(all + q + (kStates == StatesOf::both ? p * at.across : 0));
        };
        const V here = load<V>(mapped_ + p * kWidth);
        const V made = normalized<kMap>(here, scale, numbers(by_.shift), numbers(by_.rest), numbers(by_.factor));
        if (count == kWidth)
          store_elements(to + p * pitch + q, made);
        else
          store_elements(to + p * pitch + q, made, count);
      }
    }
  }

  static StatesOfLines states(const CrossingTiles::Place& at, Index p, Index line) {
    if (kStates == StatesOf::along) return {p, 0};
    return kStates == StatesOf::across ? StatesOfLines{line, 1} : StatesOfLines{line * at.along + p, at.along};
  }

  static Index number_at(StatesOfLines states, Index i) {
    return kStates == StatesOf::across ? states.first : states.first + i;
  }

  /// Lines of lanes that may begin anywhere in one.
  [[gnu::always_inline]] static void ask_for(const T* x) {
    prefetch_far(reinterpret_cast<const std::byte*>(x));
    prefetch_far(reinterpret_cast<const std::byte*>(x + kWidth) - 1);
  }

  [[gnu::always_inline]] void line(V here, Index number, V scale, A* to) const {
    const auto numbers = [&](const A* all) __attribute__((always_inline)) {
      if constexpr (kStates == StatesOf::across)
        return splat<V>(all[number]);
      else
        return load<V>(all + number);
    };
    store(to, normalized<kMap>(here, scale, numbers(by_.shift), numbers(by_.rest), numbers(by_.factor)));
  }

  [[gnu::noinline, gnu::flatten]] void square(const T* x, Index ahead, StatesOfLines states, T* to, Index pitch) {
    constexpr int kLines = Runs<T>::kMost;
    const Index stride = tiles_.across().in;
    const V scale = splat<V>(static_cast<A>(step_.scale));
    for (int k = 0; k < kLines; ++k, x += stride) {
      ask_for(x + ahead);
      line(load_elements(x), states.first + k * states.pitch, scale, mapped_ + k * kPitch);
    }
    store_square<false>(to, pitch, mapped_, kPitch);
  }

  /// `count` lines of the input, fewer than a square has, and `length` of each.
  [[gnu::noinline, gnu::flatten]] void strip(const T* x, Index ahead, StatesOfLines states, int count, Index length,
                                             T* to, Index pitch) {
    const V scale = splat<V>(static_cast<A>(step_.scale));
    const Index whole = length / kWidth * kWidth;
    const int rest = static_cast<int>(length - whole);
    for (int k = 0; k < count; ++k, x += tiles_.across().in, states.first += states.pitch) {
      A* const here = mapped_ + k * kPitchOfStrip;
      for (Index i = 0; i < whole; i += kWidth) {
        ask_for(x + i + ahead);
        line(load_elements(x + i), number_at(states, i), scale, here + i);
      }
      if (rest > 0) line(load_elements(x + whole, rest), number_at(states, whole), scale, here + whole);
    }
    store_runs_across<false>(to, pitch, static_cast<int>(kWidth), count, mapped_,
                             {whole / kWidth, kWidth, kPitchOfStrip});
    if (rest > 0)
      store_runs_across<false>(to + whole * pitch, pitch, rest, count, mapped_ + whole, {1, kWidth, kPitchOfStrip});
  }

  const Arguments& step_;
  const CrossingTiles& tiles_;
  Index state_ = -1, known_ = 0;  // whose numbers these are, and how many
  TileNumbers<A> by_;
  alignas(64) A mapped_[Runs<T>::kMost * kPitchOfStrip] = {};
  alignas(64) T turned_[CrossingTiles::kMostElements + CrossingTiles::kMostOfAxis * kWidth];
};

/// Whether a map is made so: of elements of the output's own type.
template <class A>
bool maps_across(const Arguments& step) {
  if (step.map != MapKind::softmax && step.map != MapKind::log_softmax) return false;
  return step.input == step.output && visit_elements<A>(step.input, []<class T>(T) {}) && CrossingTiles(step).cross();
}

template <class A>
[[gnu::noinline]] void map_across(const Arguments& step, Index first, Index last) {
  const CrossingTiles tiles(step);
  visit_elements<A>(step.input, [&]<class T>(T) {
    const auto kind = [&](auto map) {
      switch (tiles.states()) {
        case StatesOf::along: return CrossingMap<map(), StatesOf::along, T>(step, tiles).map(first, last);
        case StatesOf::across: return CrossingMap<map(), StatesOf::across, T>(step, tiles).map(first, last);
        case StatesOf::both: return CrossingMap<map(), StatesOf::both, T>(step, tiles).map(first, last);
      }
    };
    if (step.map == MapKind::softmax)
      kind(std::integral_constant<MapKind, MapKind::softmax>());
    else
      kind(std::integral_constant<MapKind, MapKind::log_softmax>());
  });
}

}  // namespace ndfold::simd
