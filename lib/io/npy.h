// Reading and writing .npy files: NumPy's format for one array.
#pragma once
#include <ndfold/view.h>

#include "lib/io/host_bytes.h"
#include "lib/io/npy_header.h"

#include <limits>

namespace ndfold::io {

inline constexpr Index kNoLimit = std::numeric_limits<Index>::max();

/// An array in memory: elements in this machine's byte order, bool bytes 0 or 1, strides that follow the file's order.
struct NpyArray {
  NpyHeader header;
  ViewDesc desc;
  HostBytes bytes;

  TensorView view() { return {.data = bytes.data(), .desc = desc, .device = {}}; }
  ConstTensorView view() const { return {bytes.data(), desc}; }
};

/// Each error is one sentence that starts with the file's name. Only regular files are read; bytes after the data are
/// ignored, as NumPy does; a file that shrinks meanwhile gives an error.
Result<NpyHeader> read_npy_header(const std::string& path);
/// @param max_bytes refuse data of more bytes than this, before allocating.
Result<NpyArray> read_npy(const std::string& path, Index max_bytes = kNoLimit);

/// The same from a file that is in memory already.
Result<NpyArray> decode_npy(std::span<const std::byte> file, Index max_bytes = kNoLimit);

/// Writes `array` (on the CPU, any strides) in row-major order to a new file beside `path`, then renames it to `path`:
/// that is always a whole file, the old or the new one. On an error nothing is left behind. Links are followed; what
/// exists and is no regular file is refused.
Status write_npy(const std::string& path, const ConstTensorView& array);

}  // namespace ndfold::io
