// Outputs that lie in the way of lanes: as few as a vector has no use for side by side, or apart. Tiles of them are
// brought together next to the core, where they are columns side by side; a softmax's results are taken apart again.
#pragma once
#include "kernels/cpu/catalog.h"
#include "kernels/cpu/odometer.h"
#include "kernels/cpu/stream.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>

namespace ndfold::simd {

/// What brings a row of a tile together, and takes it apart: moves of as many bytes each. Of neighbours that no number
/// of moves fills, the last one moves some a second time.
class TileMoves {
 public:
  static constexpr Index kMostOutputs = 1 << 11;

  /// Of the outputs that `axes` span, elements of `bytes`, by what `stride` says of an axis. Where that is 1 for the
  /// innermost, `granule` of them are neighbours.
  template <class Stride>
  TileMoves(AxisList axes, Index bytes, Index granule, const Stride& stride)
      : run_(stride(inner(axes)) == 1 ? granule : 1) {
    const Index length = run_ * bytes, near = inner(axes).size / run_, lines = elements(outer(axes));
    while (bytes_ < kMostBytes && 2 * bytes_ <= length) bytes_ *= 2;
    Index position[kMostAxes] = {};
    for (Index line = 0, at = 0; line < lines; ++line) {
      for (Index i = 0; i < near; ++i) add(at + i * run_ * stride(inner(axes)), bytes, length);
      for (int i = axes.rank - 1; i-- > 0;) {
        const Axis& axis = axes.axes[i];
        at += stride(axis);
        if (++position[i] < axis.size) break;
        at -= axis.size * stride(axis), position[i] = 0;
      }
    }
    moves_of_run_ = count_ * run_ / elements(axes);
  }

  /// The moves of the first so many outputs.
  Index of_outputs(Index outputs) const { return outputs / run_ * moves_of_run_; }
  /// Whether output i lies i places further than the first.
  bool are_one_run() const {
    return std::all_of(moves_, moves_ + count_, [](const Move& move) { return move.apart == move.together; });
  }

  /// The moves [first, last) of a row; where it asks, also for what lies `ahead` of each.
  template <bool kAsks>
  void gather(Index first, Index last, const std::byte* from, std::byte* to, Index ahead) const {
    with_bytes([&](auto size) {
      for (Index i = first; i < last; ++i) {
        if constexpr (kAsks) __builtin_prefetch(from + moves_[i].apart + ahead);
        std::memcpy(to + moves_[i].together, from + moves_[i].apart, size());
      }
    });
  }
  void scatter(Index first, Index last, const std::byte* from, std::byte* to) const {
    with_bytes([&](auto size) {
      for (Index i = first; i < last; ++i) std::memcpy(to + moves_[i].apart, from + moves_[i].together, size());
    });
  }

 private:
  static constexpr Index kMostBytes = 16;
  struct Move {
    std::int32_t apart, together;
  };

  void add(Index element, Index bytes, Index length) {
    const Index apart = element * bytes, together = outputs_ * bytes;
    for (Index i = 0; i < length; i += bytes_) {
      const Index at = std::min(i, length - bytes_);
      moves_[count_++] = {static_cast<std::int32_t>(apart + at), static_cast<std::int32_t>(together + at)};
    }
    outputs_ += run_;
  }

  template <class Work>
  void with_bytes(const Work& work) const {
    switch (bytes_) {
      case 1: return work(std::integral_constant<Index, 1>());
      case 2: return work(std::integral_constant<Index, 2>());
      case 4: return work(std::integral_constant<Index, 4>());
      case 8: return work(std::integral_constant<Index, 8>());
      default: return work(std::integral_constant<Index, kMostBytes>());
    }
  }

  Index run_, bytes_ = 1, moves_of_run_ = 1, outputs_ = 0, count_ = 0;
  Move moves_[kMostOutputs];
};

/// How the outputs of a step are cut into tiles: of the innermost kept axes all, and a part of the next.
struct TileShape {
  static constexpr Index kBytes = 64 << 10, kMostRows = 1 << 10;

  explicit TileShape(const Arguments& step) : rows(elements(step.reduced)) {
    const bool maps = step.sink != SinkKind::store;
    const auto in = static_cast<Index>(size_bytes(step.input)), out = static_cast<Index>(size_bytes(step.output));
    const Index results = maps ? std::max<Index>(rows, 1) * out : out, elements_of_one = std::max<Index>(rows, 1) * in;
    const Index most = std::min(TileMoves::kMostOutputs, kBytes / std::max(elements_of_one, results));
    for (cut = step.kept.rank - 1; cut > 0 && inside * step.kept.axes[cut].size <= most; --cut)
      inside *= step.kept.axes[cut].size;
    const Index size = cut < 0 ? 1 : step.kept.axes[cut].size;
    step_of_cut = std::clamp<Index>(most / inside, 1, size);
    tiles_of_cut = (size + step_of_cut - 1) / step_of_cut;
    blocks = tiles_of_cut * elements({step.kept.axes, std::max(cut, 0)});
    granule = cut + 1 < step.kept.rank ? inner(step.kept).size : std::gcd(step_of_cut, size);
  }

  /// Whether offsets within a tile are words of 32 bits.
  bool spans_words(const Arguments& step) const {
    constexpr double kMost = 1 << 30;
    double in = 0, out = 0;
    for (int i = std::max(cut, 0); i < step.kept.rank; ++i) {
      const Axis& axis = step.kept.axes[i];
      const auto others = static_cast<double>((i == cut ? step_of_cut : axis.size) - 1);
      in += others * std::abs(static_cast<double>(axis.in)), out += others * std::abs(static_cast<double>(axis.out));
    }
    return std::max(in * static_cast<double>(size_bytes(step.input)),
                    out * static_cast<double>(size_bytes(step.output))) < kMost;
  }

  Index rows;
  int cut;           // the axis of which a tile has `step_of_cut`
  Index inside = 1;  // outputs of one of those
  Index step_of_cut, tiles_of_cut, blocks;
  Index granule;  // all tiles have multiples of so many outputs side by side
};

/// Blocks: tiles.
void run_gathered(const Arguments& step, Index first, Index last);

/// Whether a step is better run so.
bool is_better_gathered(const KernelKey& key, const Arguments& step);

}  // namespace ndfold::simd
