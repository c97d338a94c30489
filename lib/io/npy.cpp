// .npy files: the header's grammar, a regular file, and elements put in order.
#include "lib/io/npy.h"

#include "lib/io/elements.h"
#include "lib/io/file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

namespace ndfold::io {
namespace {

// Short messages of std::string need no memory, so this one can always be given.
template <class Body>
auto without_exceptions(Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Status(Code::out_of_memory, "out of memory");
  }
}

struct OpenNpy {
  InputFile file;
  NpyHeader header;
};

Result<OpenNpy> open_npy(const std::string& path) {
  Result<InputFile> file = InputFile::open(path);
  if (!file) return file.error();
  const Index file_bytes = file->bytes();

  std::vector<std::byte> start(static_cast<std::size_t>(std::min(file_bytes, kPreambleBytes)));
  if (const Status status = file->read_at(0, start); !status) return status;
  const Result<Index> offset = npy_data_offset(start, file_bytes);
  if (!offset) return about_file(path, offset.error());
  start.resize(static_cast<std::size_t>(*offset));
  if (const Status status = file->read_at(0, start); !status) return status;
  Result<NpyHeader> header = parse_npy_header(start, file_bytes);
  if (!header) return about_file(path, header.error());
  return OpenNpy{.file = *std::move(file), .header = *std::move(header)};
}

std::vector<Index> column_major_strides(const std::vector<Index>& sizes) {
  std::vector<Index> strides = row_major_strides({sizes.rbegin(), sizes.rend()});
  return {strides.rbegin(), strides.rend()};
}

Result<HostBytes> allocate_data(const NpyHeader& header, Index max_bytes) {
  if (header.data_bytes > max_bytes)
    return Status(Code::io_error, "the file has " + std::to_string(header.data_bytes) + " bytes of data, but at most " +
                                      std::to_string(max_bytes) + " are allowed");
  return HostBytes::allocate(header.data_bytes);
}

NpyArray finish(NpyHeader header, HostBytes bytes) {
  constexpr bool kHostIsBigEndian = std::endian::native == std::endian::big;
  const std::size_t element_bytes = size_bytes(header.dtype);
  if (element_bytes > 1 && header.big_endian != kHostIsBigEndian) swap_bytes(bytes.span(), element_bytes);
  if (header.dtype == DType::boolean) normalize_bools(bytes.span());
  ViewDesc desc = dense(header.dtype, header.shape);
  if (header.fortran_order) desc.strides = column_major_strides(header.shape);
  desc.alignment_bytes = HostBytes::kAlignment;
  return {.header = std::move(header), .desc = std::move(desc), .bytes = std::move(bytes)};
}

Status write_elements(OutputFile& file, RowMajorReader& reader, DType dtype) {
  const bool as_they_are = dtype != DType::boolean;  // a bool byte of 2 would be invalid to NumPy
  if (as_they_are && !reader.in_place().empty()) return file.write(reader.in_place());
  constexpr Index kPieceBytes = Index{1} << 20;
  Result<HostBytes> piece = HostBytes::allocate(kPieceBytes);
  if (!piece) return piece.error();
  while (true) {
    const std::span<std::byte> filled = reader.read(piece->span());
    if (filled.empty()) return {};
    if (!as_they_are) normalize_bools(filled);
    if (const Status status = file.write(filled); !status) return status;
  }
}

}  // namespace

Result<NpyHeader> read_npy_header(const std::string& path) {
  return without_exceptions([&]() -> Result<NpyHeader> {
    Result<OpenNpy> open = open_npy(path);
    if (!open) return open.error();
    return std::move(open->header);
  });
}

Result<NpyArray> read_npy(const std::string& path, Index max_bytes) {
  return without_exceptions([&]() -> Result<NpyArray> {
    Result<OpenNpy> open = open_npy(path);
    if (!open) return open.error();
    Result<HostBytes> bytes = allocate_data(open->header, max_bytes);
    if (!bytes) return about_file(path, bytes.error());
    if (const Status status = open->file.read_at(open->header.data_offset, bytes->span()); !status) return status;
    return finish(std::move(open->header), *std::move(bytes));
  });
}

Result<NpyArray> decode_npy(std::span<const std::byte> file, Index max_bytes) {
  return without_exceptions([&]() -> Result<NpyArray> {
    Result<NpyHeader> header = parse_npy_header(file, static_cast<Index>(file.size()));
    if (!header) return header.error();
    Result<HostBytes> bytes = allocate_data(*header, max_bytes);
    if (!bytes) return bytes.error();
    std::memcpy(bytes->data(), file.data() + header->data_offset, static_cast<std::size_t>(header->data_bytes));
    return finish(*std::move(header), *std::move(bytes));
  });
}

Status write_npy(const std::string& path, const ConstTensorView& array) {
  return without_exceptions([&]() -> Status {
    const Result<std::string> header = format_npy_header(array.desc.dtype, array.desc.sizes);
    if (!header) return about_file(path, header.error());
    Result<RowMajorReader> reader = RowMajorReader::over(array);
    if (!reader) return about_file(path, reader.error());
    Result<OutputFile> file = OutputFile::create(path);
    if (!file) return file.error();
    if (const Status status = file->write(std::as_bytes(std::span(*header))); !status) return status;
    if (const Status status = write_elements(*file, *reader, array.desc.dtype); !status) return status;
    return file->commit();
  });
}

}  // namespace ndfold::io
