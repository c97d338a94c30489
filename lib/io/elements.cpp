// Byte-wise work on elements. Memory may be misaligned for its type, hence memcpy.
#include "lib/io/elements.h"

#include "lib/io/npy_header.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace ndfold::io {
namespace {

template <std::size_t kBytes>
void swap_all(std::span<std::byte> data) {
  for (std::size_t i = 0; i + kBytes <= data.size(); i += kBytes) std::reverse(&data[i], &data[i] + kBytes);
}

template <std::size_t kBytes>
void copy_strided(const std::byte* from, Index stride, Index count, std::byte* to) {
  for (Index i = 0; i < count; ++i) std::memcpy(to + i * static_cast<Index>(kBytes), from + i * stride, kBytes);
}

struct WidthRow {
  Index bytes;
  void (*swap)(std::span<std::byte>);
  void (*copy)(const std::byte*, Index, Index, std::byte*);
};
constexpr WidthRow kWidths[] = {
    {1, swap_all<1>, copy_strided<1>},
    {2, swap_all<2>, copy_strided<2>},
    {4, swap_all<4>, copy_strided<4>},
    {8, swap_all<8>, copy_strided<8>},
};

const WidthRow& width_row(Index bytes) {
  const auto fits = [bytes](const WidthRow& row) { return row.bytes >= bytes; };
  return *std::find_if(std::begin(kWidths), std::end(kWidths) - 1, fits);
}

}  // namespace

void swap_bytes(std::span<std::byte> data, std::size_t element_bytes) {
  width_row(static_cast<Index>(element_bytes)).swap(data);
}

void normalize_bools(std::span<std::byte> data) {
  for (std::byte& value : data) value = std::byte{value != std::byte{0}};
}

Result<RowMajorReader> RowMajorReader::over(const ConstTensorView& array) {
  const ViewDesc& desc = array.desc;
  if (desc.strides.size() != desc.sizes.size())
    return Status(Code::invalid_argument, "array has " + std::to_string(desc.sizes.size()) + " sizes and " +
                                              std::to_string(desc.strides.size()) + " strides");
  if (size_bytes(desc.dtype) == 0)
    return Status(Code::invalid_argument, "array has the element type " + std::string(name(desc.dtype)));
  const Result<Index> bytes = array_bytes(desc.dtype, desc.sizes);
  if (!bytes) return bytes.error();
  if (array.device.kind != DeviceKind::cpu) return Status(Code::unsupported, "array lies on a GPU, not on the CPU");
  if (*bytes > 0 && !array.data)
    return Status(Code::invalid_argument, "array has " + std::to_string(*bytes) + " bytes of data at a null address");

  RowMajorReader reader;
  reader.data_ = static_cast<const std::byte*>(array.data);
  reader.element_bytes_ = static_cast<Index>(size_bytes(desc.dtype));
  reader.left_ = *bytes / reader.element_bytes_;
  reader.loops_.push_back({.size = 1, .stride = 0, .at = 0});
  Index reach = 0;
  for (std::size_t i = 0; i < desc.sizes.size() && reader.left_ > 0; ++i) {
    if (desc.sizes[i] == 1) continue;
    Loop loop = {.size = desc.sizes[i], .stride = 0, .at = 0};
    Index span = 0;
    if (__builtin_mul_overflow(desc.strides[i], reader.element_bytes_, &loop.stride) ||
        __builtin_mul_overflow(loop.stride, loop.size, &span) || span == std::numeric_limits<Index>::min() ||
        __builtin_add_overflow(reach, span < 0 ? -span : span, &reach))
      return Status(Code::overflow, "array reaches over more than 2^63 bytes with stride " +
                                        std::to_string(desc.strides[i]) + " on an axis of size " +
                                        std::to_string(loop.size));
    Loop& outer = reader.loops_.back();
    if (outer.size == 1)
      outer = loop;
    else if (outer.stride == span)
      outer = {.size = outer.size * loop.size, .stride = loop.stride, .at = 0};
    else
      reader.loops_.push_back(loop);
  }
  return reader;
}

std::span<const std::byte> RowMajorReader::in_place() const {
  const bool dense = loops_.size() == 1 && (loops_[0].size == 1 || loops_[0].stride == element_bytes_);
  if (!dense || left_ == 0) return {};
  return {data_, static_cast<std::size_t>(left_ * element_bytes_)};
}

std::span<std::byte> RowMajorReader::read(std::span<std::byte> out) {
  const Index room = static_cast<Index>(out.size()) / element_bytes_;
  Index filled = 0;
  while (filled < room && left_ > 0) {
    const Loop& inner = loops_.back();
    const Index count = std::min(room - filled, inner.size - inner.at);
    width_row(element_bytes_).copy(data_ + offset_, inner.stride, count, out.data() + filled * element_bytes_);
    filled += count;
    advance(count);
  }
  return out.first(static_cast<std::size_t>(filled * element_bytes_));
}

// Within the innermost loop; at its end the outer ones step, like an odometer.
void RowMajorReader::advance(Index elements) {
  left_ -= elements;
  loops_.back().at += elements;
  offset_ += elements * loops_.back().stride;
  for (std::size_t i = loops_.size() - 1; i > 0 && loops_[i].at == loops_[i].size; --i) {
    offset_ += loops_[i - 1].stride - loops_[i].size * loops_[i].stride;
    loops_[i].at = 0;
    ++loops_[i - 1].at;
  }
}

}  // namespace ndfold::io
