// The grammar of .npy headers. Each rule takes what it reads off the front of the text, or says what it found instead.
#include "lib/io/npy_header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

namespace ndfold::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kDataAlignment = 64;
constexpr bool kHostIsBigEndian = std::endian::native == std::endian::big;
static_assert(kHostIsBigEndian || std::endian::native == std::endian::little);

struct ElementCode {
  std::string_view code;  ///< kind and bytes, after the byte order
  DType dtype;
};
constexpr ElementCode kElementCodes[] = {
    {"f2", DType::f16}, {"f4", DType::f32}, {"f8", DType::f64}, {"i1", DType::i8},
    {"i2", DType::i16}, {"i4", DType::i32}, {"i8", DType::i64}, {"u1", DType::u8},
    {"u2", DType::u16}, {"u4", DType::u32}, {"u8", DType::u64}, {"b1", DType::boolean},
};

struct RefusedKind {
  char kind;
  std::string_view what;
};
constexpr RefusedKind kRefusedKinds[] = {
    {'O', "pickled Python objects, which are never loaded"},
    {'U', "Unicode text"},
    {'S', "byte strings"},
    {'a', "byte strings"},
    {'V', "raw bytes or records"},
    {'c', "complex numbers"},
    {'M', "dates"},
    {'m', "time spans"},
    {'f', "floats of neither 2, 4 nor 8 bytes"},
};

Status bad_file(std::string sentence) { return {Code::io_error, std::move(sentence)}; }

// Text of the file for a message: short, printable, on one line.
std::string quoted(std::string_view text) {
  constexpr std::size_t kMostShown = 40;
  std::string result = "'";
  for (const char c : text.substr(0, kMostShown)) result += c >= ' ' && c <= '~' ? c : '?';
  return result + (text.size() > kMostShown ? "…'" : "'");
}

std::string shortened(const std::vector<Index>& shape) {
  constexpr std::size_t kMostShown = 8;
  if (shape.size() <= kMostShown) return shape_text(shape);
  return "of " + std::to_string(shape.size()) + " axes";
}

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

Result<DType> element_type(std::string_view descr, bool& big_endian) {
  constexpr std::string_view kOrders = "<>|=";
  const auto refuse = [descr](std::string_view what) {
    return Status(Code::unsupported, "the element type " + quoted(descr) + " is " + std::string(what) +
                                         ", but only f2, f4, f8, i1 to i8, u1 to u8 and b1 are read");
  };
  if (descr.size() < 2 || kOrders.find(descr[0]) == std::string_view::npos) return refuse("unknown");
  for (const auto& [code, dtype] : kElementCodes) {
    if (descr.substr(1) != code) continue;
    const bool native = descr[0] == '=' || descr[0] == '|';
    big_endian = size_bytes(dtype) > 1 && (native ? kHostIsBigEndian : descr[0] == '>');
    return dtype;
  }
  for (const auto& [kind, what] : kRefusedKinds)
    if (descr[1] == kind) return refuse(what);
  return refuse("unknown");
}

class Grammar {
 public:
  Grammar(std::string_view text, NpyHeader& header) : rest_(text), size_(text.size()), header_(header) {}

  // header: '{' [ pair { ',' pair } [','] ] '}'
  Status read_header() {
    std::array<bool, std::size(kKeys)> seen = {};
    if (!accept('{')) return expected("'{'");
    while (!accept('}')) {
      if (const Status status = read_pair(seen); !status) return status;
      if (accept(',')) continue;
      if (accept('}')) break;
      return expected("',' or '}'");
    }
    skip_spaces();
    if (!rest_.empty()) return expected("the end");
    for (std::size_t i = 0; i < std::size(kKeys); ++i)
      if (!seen[i]) return bad_file("the header lacks the key " + quoted(kKeys[i].name));
    return {};
  }

 private:
  struct Key {
    std::string_view name;
    Status (Grammar::*read)();
  };
  static const Key kKeys[3];

  // pair: string ':' value of that key
  Status read_pair(std::array<bool, 3>& seen) {
    const Result<std::string_view> name = read_string("a key in quotes");
    if (!name) return name.error();
    const Key* key = std::find_if(kKeys, std::end(kKeys), [&](const Key& row) { return row.name == *name; });
    if (key == std::end(kKeys)) return bad_file("the header has the unknown key " + quoted(*name));
    bool& seen_before = seen[static_cast<std::size_t>(key - kKeys)];
    if (std::exchange(seen_before, true)) return bad_file("the header has the key " + quoted(*name) + " twice");
    return accept(':') ? (this->*key->read)() : expected("':'");
  }

  // descr: string; a list or a tuple there describes records
  Status read_descr() {
    skip_spaces();
    if (rest_.starts_with('[') || rest_.starts_with('('))
      return {Code::unsupported, "the elements are records (a structured dtype), but only plain numbers are read"};
    const Result<std::string_view> descr = read_string("an element type in quotes");
    if (!descr) return descr.error();
    const Result<DType> dtype = element_type(*descr, header_.big_endian);
    if (dtype) header_.dtype = *dtype;
    return dtype.error();
  }

  // fortran_order: True | False
  Status read_order() {
    skip_spaces();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      header_.fortran_order = value;
      return {};
    }
    return expected("True or False");
  }

  // shape: '(' ')' | '(' size ',' ')' | '(' size ',' size { ',' size } [','] ')'
  Status read_shape() {
    if (!accept('(')) return expected("a tuple of sizes");
    bool comma = false;
    while (!accept(')')) {
      if (!header_.shape.empty() && !comma) return expected("',' or ')'");
      const Result<Index> size = read_size();
      if (!size) return size.error();
      header_.shape.push_back(*size);
      comma = accept(',');
    }
    if (header_.shape.size() == 1 && !comma) return bad_file("the shape is a number in brackets, not a tuple");
    return {};
  }

  // size: digits without a leading zero; Python 2 wrote an L after them
  Result<Index> read_size() {
    skip_spaces();
    std::size_t length = rest_.starts_with('-') ? 1 : 0;
    while (length < rest_.size() && is_digit(rest_[length])) ++length;
    const std::string_view number = rest_.substr(0, length);
    if (number.empty() || number == "-") return expected("a size");
    if (number[0] == '-') return bad_file("the shape has the negative size " + quoted(number));
    if (number[0] == '0' && length > 1) return expected("a size without leading zeros");
    Index size = 0;
    if (std::from_chars(number.data(), number.data() + length, size).ec != std::errc())
      return Status(Code::overflow, "the shape has the size " + quoted(number) + ", which does not fit 64 bits");
    rest_.remove_prefix(length);
    if (header_.major < 3 && rest_.starts_with('L')) rest_.remove_prefix(1);
    return size;
  }

  // string: quote, characters other than quotes, backslashes and controls, the same quote
  Result<std::string_view> read_string(std::string_view what) {
    skip_spaces();
    if (!rest_.starts_with('\'') && !rest_.starts_with('"')) return expected(what);
    std::size_t end = 1;
    while (end < rest_.size() && rest_[end] >= ' ' && rest_[end] <= '~' && rest_[end] != '\\' && rest_[end] != rest_[0])
      ++end;
    if (end == rest_.size() || rest_[end] != rest_[0]) return expected("a plain ASCII string");
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  void skip_spaces() {
    const std::size_t next = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(next == std::string_view::npos ? rest_.size() : next);
  }

  bool accept(char c) {
    skip_spaces();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  Status expected(std::string_view what) const {
    const std::string found = rest_.empty() ? "its end" : quoted(rest_.substr(0, 12));
    return bad_file("the header has " + found + " at byte " + std::to_string(size_ - rest_.size()) + " where " +
                    std::string(what) + " belongs");
  }

  std::string_view rest_;
  std::size_t size_;
  NpyHeader& header_;
};

constexpr Grammar::Key Grammar::kKeys[3] = {
    {"descr", &Grammar::read_descr}, {"fortran_order", &Grammar::read_order}, {"shape", &Grammar::read_shape}};

std::span<const std::byte> first_bytes(std::span<const std::byte> bytes, Index most) {
  return bytes.first(most < 0 ? 0 : std::min(bytes.size(), static_cast<std::size_t>(most)));
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<Index> npy_data_offset(std::span<const std::byte> file_start, Index file_bytes) {
  const auto start = first_bytes(file_start, file_bytes);
  const auto byte = [start](std::size_t i) { return std::to_integer<unsigned>(start[i]); };
  const auto ends_early = [start] {
    return bad_file("the file ends after " + std::to_string(start.size()) + " bytes, before its header");
  };
  if (as_text(start).substr(0, kMagic.size()) != kMagic.substr(0, start.size()) || start.empty())
    return bad_file("the file does not start with \\x93NUMPY, so it is not a .npy file");
  if (start.size() < kMagic.size() + 2) return ends_early();
  if (byte(6) < 1 || byte(6) > 3 || byte(7) != 0)
    return bad_file("the format version is " + std::to_string(byte(6)) + "." + std::to_string(byte(7)) +
                    ", but only 1.0, 2.0 and 3.0 are read");
  const std::size_t length_bytes = byte(6) == 1 ? 2 : 4;
  const std::size_t preamble = kMagic.size() + 2 + length_bytes;
  if (start.size() < preamble) return ends_early();
  Index length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= Index{byte(preamble - length_bytes + i)} << (8 * i);
  if (length > kMaxHeaderBytes)
    return bad_file("the header claims " + std::to_string(length) + " bytes, but at most " +
                    std::to_string(kMaxHeaderBytes) + " are read");
  const Index offset = static_cast<Index>(preamble) + length;
  if (offset > file_bytes)
    return bad_file("the header claims " + std::to_string(length) + " bytes, but the file has only " +
                    std::to_string(file_bytes - static_cast<Index>(preamble)) + " after its preamble");
  return offset;
}

Result<NpyHeader> parse_npy_header(std::span<const std::byte> file_start, Index file_bytes) {
  const Result<Index> offset = npy_data_offset(file_start, file_bytes);
  if (!offset) return offset.error();
  const auto start = first_bytes(file_start, *offset);
  if (static_cast<Index>(start.size()) < *offset)
    return Status(Code::invalid_argument, "file_start has " + std::to_string(start.size()) +
                                              " bytes, the header ends at byte " + std::to_string(*offset));
  NpyHeader header;
  header.major = std::to_integer<int>(start[6]);
  header.data_offset = *offset;
  Grammar grammar(as_text(start).substr(header.major == 1 ? 10 : 12), header);
  if (const Status status = grammar.read_header(); !status) return status;

  const Result<Index> bytes = array_bytes(header.dtype, header.shape);
  if (!bytes) return bytes.error();
  header.data_bytes = *bytes;
  if (header.data_bytes > file_bytes - header.data_offset)
    return bad_file("the shape " + shortened(header.shape) + " of " + std::string(name(header.dtype)) + " needs " +
                    std::to_string(header.data_bytes) + " bytes of data, but the file has only " +
                    std::to_string(file_bytes - header.data_offset));
  return header;
}

Result<std::string> format_npy_header(DType dtype, const std::vector<Index>& shape) {
  std::string_view code;
  for (const auto& row : kElementCodes)
    if (row.dtype == dtype) code = row.code;
  if (code.empty())
    return Status(Code::unsupported,
                  "a .npy file cannot hold " + std::string(name(dtype)) + ": NumPy has no such element type");
  const char order = size_bytes(dtype) == 1 ? '|' : kHostIsBigEndian ? '>' : '<';
  std::string header = "{'descr': '";
  (header += order) += code;
  header += "', 'fortran_order': False, 'shape': " + shape_text(shape) + ", }";

  constexpr std::size_t kMostBytes[] = {UINT16_MAX, static_cast<std::size_t>(kMaxHeaderBytes)};
  for (const int major : {1, 2}) {
    const std::size_t length_bytes = major == 1 ? 2 : 4;
    const std::size_t preamble = kMagic.size() + 2 + length_bytes;
    const std::size_t offset = (preamble + header.size() + kDataAlignment) / kDataAlignment * kDataAlignment;
    const std::size_t length = offset - preamble;
    if (length > kMostBytes[major - 1]) continue;
    std::string file_start(kMagic);
    file_start += static_cast<char>(major);
    file_start += '\0';
    for (std::size_t i = 0; i < length_bytes; ++i) file_start += static_cast<char>(length >> (8 * i) & 0xff);
    file_start += header;
    file_start.resize(offset - 1, ' ');
    return file_start + '\n';
  }
  return Status(Code::unsupported, "the header of an array of " + std::to_string(shape.size()) + " axes is over " +
                                       std::to_string(kMaxHeaderBytes) + " bytes");
}

Result<Index> array_bytes(DType dtype, const std::vector<Index>& shape) {
  auto bytes = static_cast<Index>(size_bytes(dtype));
  bool empty = false;
  for (const Index size : shape) {
    if (size < 0) return Status(Code::invalid_argument, "the shape has the negative size " + std::to_string(size));
    if (size == 0)
      empty = true;
    else if (__builtin_mul_overflow(bytes, size, &bytes))
      return Status(Code::overflow,
                    "the shape " + shortened(shape) + " of " + std::string(name(dtype)) + " is more than 2^63 bytes");
  }
  return empty ? 0 : bytes;
}

std::string shape_text(const std::vector<Index>& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace ndfold::io
