// Poisoned memory, and who may touch it.
#include "tests/support/buffers.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace ndfold::test {

Span span_of(const ViewDesc& view) {
  Span span;
  for (std::size_t axis = 0; axis < view.sizes.size(); ++axis) {
    if (view.sizes[axis] == 0) return {.low = 0, .high = -1};
    if (view.sizes[axis] == 1) continue;
    const Index reach = (view.sizes[axis] - 1) * view.strides[axis];
    (reach < 0 ? span.low : span.high) += reach;
  }
  return span;
}

Array::Array(ViewDesc desc, Index shift) : desc_(std::move(desc)) {
  const auto width = static_cast<Index>(size_bytes(desc_.dtype));
  const Span span = span_of(desc_);
  const Index below = (kMarginBytes - span.low * width + kLineBytes - 1) / kLineBytes * kLineBytes;
  origin_ = below + shift * width;
  const Index total = origin_ + (span.high + 1) * width + kMarginBytes;
  Line poisoned;
  std::fill(std::begin(poisoned.bytes), std::end(poisoned.bytes), kPoison);
  lines_.assign(static_cast<std::size_t>((total + kLineBytes - 1) / kLineBytes), poisoned);
}

bool Array::gaps_untouched() const {
  std::vector<std::byte> rest(bytes(), bytes() + total_bytes());
  for (const Index offset : elements()) std::fill_n(rest.begin() + place(offset), size_bytes(desc_.dtype), kPoison);
  return std::all_of(rest.begin(), rest.end(), [](std::byte b) { return b == kPoison; });
}

bool Array::untouched() const {
  return std::all_of(bytes(), bytes() + total_bytes(), [](std::byte b) { return b == kPoison; });
}

Fence::Fence(Array& array) : array_(array) {
#if defined(__SANITIZE_ADDRESS__)
  const auto width = static_cast<Index>(size_bytes(array.desc().dtype));
  const Span span = span_of(array.desc());
  const Index first = array.origin_ + span.low * width, end = array.origin_ + (span.high + 1) * width;
  __asan_poison_memory_region(array.bytes(), static_cast<std::size_t>(first));
  __asan_poison_memory_region(array.bytes() + end, array.total_bytes() - static_cast<std::size_t>(end));
#endif
}

Fence::~Fence() {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(array_.bytes(), array_.total_bytes());
#endif
}

}  // namespace ndfold::test
