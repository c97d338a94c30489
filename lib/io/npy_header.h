// The header of a .npy file: what it says, and the tiny grammar that reads it (no eval, no pickle).
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once
#include <ndfold/dtype.h>
#include <ndfold/status.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace ndfold::io {

/// Magic, version and header length take 10 bytes in version 1 and 12 in versions 2 and 3.
inline constexpr Index kPreambleBytes = 12;
/// The longest header that is read or written. NumPy writes a few hundred bytes; version 2 could ask for 4 GB.
inline constexpr Index kMaxHeaderBytes = Index{1} << 20;

struct NpyHeader {
  int major = 1;  ///< format version 1, 2 or 3
  DType dtype = DType::f32;
  bool big_endian = false;     ///< of the elements in the file; false for elements of one byte
  bool fortran_order = false;  ///< first axis fastest
  std::vector<Index> shape;
  Index data_offset = 0;  ///< where the elements start in the file, in bytes
  Index data_bytes = 0;   ///< of all elements
  friend bool operator==(const NpyHeader&, const NpyHeader&) = default;
};

/// Where the data of a file of `file_bytes` bytes starts: the length of preamble and header. `file_start` holds the
/// first kPreambleBytes bytes of the file, or all that it has.
Result<Index> npy_data_offset(std::span<const std::byte> file_start, Index file_bytes);

/// `file_start` holds at least the first npy_data_offset() bytes of a file of `file_bytes` bytes. When this succeeds,
/// data_offset + data_bytes <= file_bytes and no product of sizes overflows.
/// @return io_error for what is not a whole .npy file, unsupported for other element types, overflow for huge shapes.
Result<NpyHeader> parse_npy_header(std::span<const std::byte> file_start, Index file_bytes);

/// Preamble and header of a row-major array in this machine's byte order, padded with spaces to a multiple of 64 bytes:
/// version 1, or 2 when 65535 bytes do not hold it.
/// @return unsupported for element types that NumPy has no name for (bf16) and for headers over kMaxHeaderBytes.
Result<std::string> format_npy_header(DType dtype, const std::vector<Index>& shape);

/// The bytes of an array of this shape. Axes of size 0 make it 0, but the product of the others must fit 63 bits too.
Result<Index> array_bytes(DType dtype, const std::vector<Index>& shape);

/// A shape as Python writes it: "()", "(3,)", "(3, 4)".
std::string shape_text(const std::vector<Index>& shape);

}  // namespace ndfold::io
