// Arrays that own their memory, with poisoned margins and gaps around the elements of a view.
#pragma once
#include <ndfold/view.h>

#include "tests/support/reference.h"

#include <cstddef>
#include <vector>

namespace ndfold::test {

inline constexpr std::byte kPoison{0xff};  // a NaN in every floating type, an odd byte for a bool
inline constexpr Index kMarginBytes = 256;
inline constexpr Index kLineBytes = 64;

/// Offsets, in elements, of the first and the last element in memory; {0, -1} when there are none.
struct Span {
  Index low = 0, high = 0;
};

inline Span span_of(const ViewDesc& view) {
  Span span;
  for (std::size_t axis = 0; axis < view.sizes.size(); ++axis) {
    if (view.sizes[axis] == 0) return {.low = 0, .high = -1};
    if (view.sizes[axis] == 1) continue;
    const Index reach = (view.sizes[axis] - 1) * view.strides[axis];
    (reach < 0 ? span.low : span.high) += reach;
  }
  return span;
}

/// Memory for a view: element (0, …, 0) lies `shift` elements after a multiple of 64 bytes.
class Array {
 public:
  explicit Array(ViewDesc desc, Index shift = 0) : desc_(std::move(desc)) {
    const auto width = static_cast<Index>(size_bytes(desc_.dtype));
    const Span span = span_of(desc_);
    const Index below = (kMarginBytes - span.low * width + kLineBytes - 1) / kLineBytes * kLineBytes;
    origin_ = below + shift * width;
    const Index total = origin_ + (span.high + 1) * width + kMarginBytes;
    lines_.assign(static_cast<std::size_t>((total + kLineBytes - 1) / kLineBytes), poisoned());
  }

  const ViewDesc& desc() const { return desc_; }
  std::byte* bytes() { return reinterpret_cast<std::byte*>(lines_.data()); }
  const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(lines_.data()); }
  std::size_t total_bytes() const { return lines_.size() * sizeof(Line); }
  void* data() { return bytes() + origin_; }
  const void* data() const { return bytes() + origin_; }

  TensorView view() { return {.data = data(), .desc = desc_, .device = {}}; }
  ConstTensorView view() const { return {data(), desc_}; }

  Real get(Index offset) const { return load(desc_.dtype, bytes() + place(offset)); }
  void set(Index offset, Real value) { store(desc_.dtype, bytes() + place(offset), value); }
  std::vector<Index> elements() const { return offsets(desc_.sizes, desc_.strides); }

  /// Every byte that belongs to no element is still poison.
  bool gaps_untouched() const {
    std::vector<bool> owned(total_bytes(), false);
    for (const Index offset : elements()) std::fill_n(owned.begin() + place(offset), size_bytes(desc_.dtype), true);
    for (std::size_t i = 0; i < owned.size(); ++i)
      if (!owned[i] && bytes()[i] != kPoison) return false;
    return true;
  }
  /// No byte was ever written.
  bool untouched() const {
    return std::all_of(bytes(), bytes() + total_bytes(), [](std::byte b) { return b == kPoison; });
  }

  friend bool operator==(const Array& a, const Array& b) {
    return a.total_bytes() == b.total_bytes() && std::memcmp(a.bytes(), b.bytes(), a.total_bytes()) == 0;
  }

 private:
  struct alignas(kLineBytes) Line {
    std::byte bytes[kLineBytes];
  };
  static Line poisoned() {
    Line line;
    std::fill(std::begin(line.bytes), std::end(line.bytes), kPoison);
    return line;
  }
  Index place(Index offset) const { return origin_ + offset * static_cast<Index>(size_bytes(desc_.dtype)); }

  ViewDesc desc_;
  Index origin_ = 0;
  std::vector<Line> lines_;
};

}  // namespace ndfold::test
