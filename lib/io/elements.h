// Elements on their way between a file and memory: byte order, bools, and strided arrays in row-major order.
#pragma once
#include <ndfold/status.h>
#include <ndfold/view.h>

#include <cstddef>
#include <span>
#include <vector>

namespace ndfold::io {

/// Reverses the bytes of every element of `element_bytes` bytes.
void swap_bytes(std::span<std::byte> data, std::size_t element_bytes);

/// Every byte that is not 0 becomes 1.
void normalize_bools(std::span<std::byte> data);

/// The elements of any strided array, in row-major order, in pieces.
class RowMajorReader {
 public:
  /// @return invalid_argument or overflow for a view that describes no memory.
  static Result<RowMajorReader> over(const ConstTensorView& array);

  /// All elements where they lie, when they are dense and in order already; else nothing.
  std::span<const std::byte> in_place() const;

  /// Copies the next elements into `out`, as many as it holds or as are left; answers what it filled, empty at the end.
  std::span<std::byte> read(std::span<std::byte> out);

 private:
  struct Loop {
    Index size;
    Index stride;  ///< in bytes
    Index at;
  };
  void advance(Index elements);

  const std::byte* data_ = nullptr;
  Index element_bytes_ = 1;
  Index left_ = 0;           ///< elements
  Index offset_ = 0;         ///< in bytes, of the next element
  std::vector<Loop> loops_;  ///< outermost first, at least one; neighbours that are dense together are one
};

}  // namespace ndfold::io
