// Fuzz target: any bytes as a .npy file. A header that is accepted keeps its promises, and its data are really there.
#include "lib/io/npy.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace {

constexpr ndfold::Index kLargestFile = std::numeric_limits<ndfold::Index>::max();

void require(bool held) {
  if (!held) __builtin_trap();
}

// Pre: header was accepted for a file of file_bytes bytes.
void check_header(const ndfold::io::NpyHeader& header, ndfold::Index file_bytes) {
  using namespace ndfold::io;
  require(header.major >= 1 && header.major <= 3);
  require(header.data_offset > 0 && header.data_bytes >= 0);
  require(header.data_bytes <= file_bytes - header.data_offset);
  require(*array_bytes(header.dtype, header.shape) == header.data_bytes);

  const auto start = format_npy_header(header.dtype, header.shape);
  if (!start) return;  // padding to 64 bytes may put the longest header over the limit
  const auto start_bytes = static_cast<ndfold::Index>(start->size());
  const auto again = parse_npy_header(std::as_bytes(std::span(*start)), start_bytes + header.data_bytes);
  require(again && again->dtype == header.dtype && again->shape == header.shape);
  require(again->data_offset == start_bytes && start_bytes % 64 == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ndfold::io;
  const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(data), size);
  const auto file_bytes = static_cast<ndfold::Index>(size);

  // The start of a larger file: sizes may then be far more than the bytes that are here.
  for (const ndfold::Index claimed : {kLargestFile, file_bytes / 2, file_bytes})
    if (const auto header = parse_npy_header(file, claimed)) check_header(*header, claimed);

  const auto array = decode_npy(file, ndfold::Index{1} << 20);
  if (!array) {
    require(!array.error().message().empty() && array.error().message().size() < 400);
    return 0;
  }
  require(array->bytes.size() == array->header.data_bytes);
  unsigned sum = 0;
  for (const std::byte value : array->bytes.span()) sum += std::to_integer<unsigned>(value);
  if (array->desc.dtype == ndfold::DType::boolean) require(sum <= array->bytes.span().size());
  require(array->desc.sizes == array->header.shape && array->desc.strides.size() == array->desc.sizes.size());
  return 0;
}
