// Elements put in order: against a plain loop over every index.
#include "lib/io/elements.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>

namespace ndfold::io {
namespace {

// What the reader must give: every index in row-major order, with no cleverness.
std::vector<std::uint16_t> naive(const std::uint16_t* origin, const ViewDesc& desc) {
  std::vector<std::uint16_t> result;
  std::vector<Index> at(desc.sizes.size(), 0);
  Index count = 1;
  for (const Index size : desc.sizes) count *= size;
  for (Index n = 0; n < count; ++n) {
    Index rest = n;
    Index offset = 0;
    for (std::size_t i = desc.sizes.size(); i-- > 0; rest /= desc.sizes[i])
      offset += rest % desc.sizes[i] * desc.strides[i];
    result.push_back(origin[offset]);
  }
  return result;
}

std::vector<std::uint16_t> read_in_pieces(const ConstTensorView& view, std::size_t piece_bytes) {
  auto reader = RowMajorReader::over(view);
  EXPECT_TRUE(reader) << reader.error().message();
  std::vector<std::uint16_t> result;
  std::vector<std::byte> piece(piece_bytes);
  while (true) {
    const auto filled = reader->read(piece);
    if (filled.empty()) return result;
    const std::size_t before = result.size();
    result.resize(before + filled.size() / 2);
    std::memcpy(result.data() + before, filled.data(), filled.size());
  }
}

struct Layout {
  const char* name;
  std::vector<Index> sizes;
  std::vector<Index> strides;
};

const Layout kLayouts[] = {
    {"scalar", {}, {}},
    {"dense", {3, 4, 5}, {20, 5, 1}},
    {"fortran", {3, 4, 5}, {1, 3, 12}},
    {"sliced", {3, 2, 5}, {40, 10, 2}},
    {"reversed", {3, 4, 5}, {-20, -5, -1}},
    {"one axis reversed", {3, 4, 5}, {20, -5, 1}},
    {"broadcast", {3, 4, 5}, {0, 1, 0}},
    {"sliding window", {6, 4}, {1, 1}},
    {"garbage strides on size 1", {1, 4, 1, 5}, {Index{1} << 62, 5, -77, 1}},
    {"padded rows", {4, 5}, {9, 1}},
    {"permuted", {4, 3, 5}, {5, 20, 1}},
    {"empty", {3, 0, 5}, {1, Index{1} << 62, 1}},
};

TEST(elements, any_layout_comes_in_row_major_order) {
  std::vector<std::uint16_t> memory(400);
  std::iota(memory.begin(), memory.end(), std::uint16_t{0});
  for (const Layout& layout : kLayouts) {
    const ViewDesc desc = {.dtype = DType::u16, .sizes = layout.sizes, .strides = layout.strides};
    const auto expected = naive(memory.data() + 200, desc);
    for (const std::size_t piece_bytes : {2u, 6u, 7u, 64u, 1024u})
      EXPECT_EQ(read_in_pieces({memory.data() + 200, desc}, piece_bytes), expected)
          << layout.name << " in pieces of " << piece_bytes;
  }
}

TEST(elements, dense_arrays_are_read_where_they_lie) {
  std::vector<std::uint16_t> memory(60);
  const ConstTensorView whole(memory.data(), dense(DType::u16, {3, 1, 4, 5}));
  EXPECT_EQ(RowMajorReader::over(whole)->in_place().size(), 120u);
  EXPECT_EQ(RowMajorReader::over({memory.data(), dense(DType::u16, {})})->in_place().size(), 2u);
  const ViewDesc transposed = {.dtype = DType::u16, .sizes = {4, 3}, .strides = {1, 4}};
  EXPECT_TRUE(RowMajorReader::over({memory.data(), transposed})->in_place().empty());
}

TEST(elements, sixty_four_axes_work) {
  std::vector<std::uint16_t> memory = {0, 1, 2, 3};
  ViewDesc desc = {.dtype = DType::u16, .sizes = std::vector<Index>(64, 1), .strides = std::vector<Index>(64, 99)};
  desc.sizes[10] = desc.sizes[50] = 2;
  desc.strides[10] = 1;
  desc.strides[50] = 2;
  EXPECT_EQ(read_in_pieces({memory.data(), desc}, 8), (std::vector<std::uint16_t>{0, 2, 1, 3}));
}

TEST(elements, impossible_views_are_refused) {
  const std::uint16_t value = 1;
  constexpr Index kMost = std::numeric_limits<Index>::max();
  const std::tuple<ConstTensorView, Code, const char*> kCases[] = {
      {{&value, {.dtype = DType::u16, .sizes = {1, 1}, .strides = {1}}}, Code::invalid_argument, "2 sizes and 1 "},
      {{&value, dense(DType::best, {1})}, Code::invalid_argument, "best"},
      {{&value, dense(DType::u16, {-1})}, Code::invalid_argument, "negative size -1"},
      {{nullptr, dense(DType::u16, {4})}, Code::invalid_argument, "null address"},
      {{&value, dense(DType::u16, {kMost, 2})}, Code::overflow, "more than 2^63 bytes"},
      {{&value, {.dtype = DType::u16, .sizes = {2}, .strides = {kMost}}}, Code::overflow, "reaches"},
      {{&value, {.dtype = DType::u16, .sizes = {2}, .strides = {-kMost - 1}}}, Code::overflow, "reaches"},
      {{&value, {.dtype = DType::u16, .sizes = {2, 2}, .strides = {kMost / 4, kMost / 4}}}, Code::overflow, "reaches"},
      {{&value, dense(DType::u16, {1}), {.kind = DeviceKind::cuda}}, Code::unsupported, "GPU"},
  };
  for (const auto& [view, code, words] : kCases) {
    const auto reader = RowMajorReader::over(view);
    ASSERT_FALSE(reader) << words;
    EXPECT_EQ(reader.error().code(), code);
    EXPECT_NE(reader.error().message().find(words), std::string::npos) << reader.error().message();
  }
  EXPECT_TRUE(RowMajorReader::over({nullptr, dense(DType::u16, {4, 0})}));
}

TEST(elements, bytes_swap_at_every_width) {
  std::vector<std::byte> bytes(16);
  for (const std::size_t width : {1u, 2u, 4u, 8u}) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
    swap_bytes(bytes, width);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      EXPECT_EQ(std::to_integer<std::size_t>(bytes[i]), i / width * width + (width - 1 - i % width));
  }
}

TEST(elements, every_bool_byte_becomes_0_or_1) {
  std::vector<std::byte> bytes = {std::byte{0}, std::byte{1}, std::byte{2}, std::byte{128}, std::byte{255}};
  normalize_bools(bytes);
  EXPECT_EQ(bytes, (std::vector<std::byte>{std::byte{0}, std::byte{1}, std::byte{1}, std::byte{1}, std::byte{1}}));
}

}  // namespace
}  // namespace ndfold::io
