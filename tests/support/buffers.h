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

Span span_of(const ViewDesc& view);

/// Memory for a view: element (0, …, 0) lies `shift` elements after a multiple of 64 bytes.
class Array {
 public:
  explicit Array(ViewDesc desc, Index shift = 0);

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
  bool gaps_untouched() const;
  /// No byte was ever written.
  bool untouched() const;

  friend bool operator==(const Array& a, const Array& b) {
    return a.total_bytes() == b.total_bytes() && std::memcmp(a.bytes(), b.bytes(), a.total_bytes()) == 0;
  }

 private:
  friend class Fence;
  struct alignas(kLineBytes) Line {
    std::byte bytes[kLineBytes];
  };
  Index place(Index offset) const { return origin_ + offset * static_cast<Index>(size_bytes(desc_.dtype)); }

  ViewDesc desc_;
  Index origin_ = 0;
  std::vector<Line> lines_;
};

/// While it lives, the address sanitizer faults whoever touches an array's margins, were it but to read them.
class Fence {
 public:
  explicit Fence(Array& array);
  ~Fence();
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;

 private:
  Array& array_;
};

}  // namespace ndfold::test
