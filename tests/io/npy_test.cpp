// .npy files written and read back, and files that must be refused before memory is taken for them.
#include "lib/io/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>

namespace ndfold::io {
namespace {

namespace fs = std::filesystem;

class npy : public testing::Test {
 protected:
  npy() {
    std::string pattern = (fs::temp_directory_path() / "ndfold-npy-test-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~npy() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::size_t entries() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {})); }
  std::string put(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  std::string get(const std::string& name) const {
    std::ifstream stream(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  fs::path folder_;
};

std::string file_with(const std::string& descr, const std::string& order, const std::string& shape,
                      const std::string& data) {
  const std::string header = "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
  std::string file("\x93NUMPY\1\0", 8);
  file += static_cast<char>(header.size());
  file += '\0';
  return file + header + data;
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string text_of(const NpyArray& array) {
  return {reinterpret_cast<const char*>(array.bytes.data()), static_cast<std::size_t>(array.bytes.size())};
}

TEST_F(npy, every_element_type_comes_back) {
  std::vector<unsigned char> memory(24 * 8);
  std::iota(memory.begin(), memory.end(), static_cast<unsigned char>(0));
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::bf16 || dtype == DType::boolean) continue;
    const ViewDesc desc = dense(dtype, {2, 3, 4});
    ASSERT_TRUE(write_npy(path("a.npy"), {memory.data(), desc}));
    const auto array = read_npy(path("a.npy"));
    ASSERT_TRUE(array) << array.error().message();
    EXPECT_EQ(array->desc.dtype, dtype);
    EXPECT_EQ(array->desc.sizes, desc.sizes);
    EXPECT_EQ(array->desc.strides, desc.strides);
    EXPECT_EQ(array->desc.alignment_bytes, 64);
    EXPECT_EQ(array->view().data, array->bytes.data());
    ASSERT_EQ(array->bytes.size(), 24 * static_cast<Index>(size_bytes(dtype)));
    EXPECT_EQ(std::memcmp(array->bytes.data(), memory.data(), static_cast<std::size_t>(array->bytes.size())), 0);
    EXPECT_EQ(*read_npy_header(path("a.npy")), array->header);
  }
  EXPECT_EQ(entries(), 1u);
}

TEST_F(npy, the_written_bytes_are_numpys) {
  const std::int32_t values[] = {1, 2, 3};
  ASSERT_TRUE(write_npy(path("a.npy"), {values, dense(DType::i32, {3})}));
  if (std::endian::native != std::endian::little) GTEST_SKIP() << "the expected bytes are little endian";
  std::string expected("\x93NUMPY\1\0\x76\0", 10);
  expected += "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }";
  expected.resize(127, ' ');
  expected += std::string("\n\1\0\0\0\2\0\0\0\3\0\0\0", 13);
  EXPECT_EQ(get("a.npy"), expected);
}

TEST_F(npy, strided_views_are_written_in_row_major_order) {
  std::vector<std::int16_t> memory(12);
  std::iota(memory.begin(), memory.end(), std::int16_t{0});
  const ViewDesc transposed = {.dtype = DType::i16, .sizes = {4, 3}, .strides = {1, 4}};
  ASSERT_TRUE(write_npy(path("t.npy"), {memory.data(), transposed}));
  const std::int16_t expected[] = {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11};
  EXPECT_EQ(std::memcmp(read_npy(path("t.npy"))->bytes.data(), expected, sizeof expected), 0);

  const ViewDesc reversed = {.dtype = DType::i16, .sizes = {3}, .strides = {-2}};
  ASSERT_TRUE(write_npy(path("r.npy"), {memory.data() + 6, reversed}));
  const std::int16_t backwards[] = {6, 4, 2};
  EXPECT_EQ(std::memcmp(read_npy(path("r.npy"))->bytes.data(), backwards, sizeof backwards), 0);
}

TEST_F(npy, arrays_over_one_piece_are_written_whole) {
  constexpr Index kRows = 1200;
  constexpr Index kColumns = 700;
  std::vector<float> memory(kRows * kColumns);
  std::iota(memory.begin(), memory.end(), 0.0f);
  const ViewDesc transposed = {.dtype = DType::f32, .sizes = {kColumns, kRows}, .strides = {1, kColumns}};
  ASSERT_TRUE(write_npy(path("a.npy"), {memory.data(), transposed}));
  const auto array = read_npy(path("a.npy"));
  ASSERT_TRUE(array);
  const auto* values = reinterpret_cast<const float*>(array->bytes.data());
  for (Index i = 0; i < kColumns; ++i)
    for (Index k = 0; k < kRows; ++k)
      ASSERT_EQ(values[i * kRows + k], memory[static_cast<std::size_t>(k * kColumns + i)]) << i << ", " << k;
}

TEST_F(npy, fortran_order_becomes_strides) {
  const auto array = decode_npy(bytes_of(file_with("|u1", "True", "(2, 3, 4)", std::string(24, 'x'))));
  ASSERT_TRUE(array) << array.error().message();
  EXPECT_TRUE(array->header.fortran_order);
  EXPECT_EQ(array->desc.strides, (std::vector<Index>{1, 2, 6}));
}

TEST_F(npy, both_byte_orders_give_the_same_numbers) {
  const std::string little("\x01\x02\x03\x04\x05\x06\x07\x08", 8);
  const std::string big(little.rbegin(), little.rend());
  for (const char* code : {"f8", "i8", "u8"}) {
    const auto first = decode_npy(bytes_of(file_with(std::string("<") + code, "False", "()", little)));
    const auto second = decode_npy(bytes_of(file_with(std::string(">") + code, "False", "()", big)));
    ASSERT_TRUE(first && second);
    EXPECT_EQ(text_of(*first), text_of(*second));
    std::uint64_t value = 0;
    std::memcpy(&value, first->bytes.data(), sizeof value);
    EXPECT_EQ(value, 0x0807060504030201u);
  }
  const auto pair = decode_npy(bytes_of(file_with(">u2", "False", "(2,)", std::string("\1\2\3\4", 4))));
  ASSERT_TRUE(pair);
  const std::uint16_t expected[] = {0x0102, 0x0304};
  EXPECT_EQ(std::memcmp(pair->bytes.data(), expected, sizeof expected), 0);
}

TEST_F(npy, bool_bytes_are_0_or_1_after_reading_and_writing) {
  const std::string raw("\0\1\2\xff", 4);
  const auto array = decode_npy(bytes_of(file_with("|b1", "False", "(4,)", raw)));
  ASSERT_TRUE(array);
  EXPECT_EQ(text_of(*array), std::string("\0\1\1\1", 4));
  ASSERT_TRUE(write_npy(path("b.npy"), {raw.data(), dense(DType::boolean, {4})}));
  EXPECT_EQ(get("b.npy").substr(128), std::string("\0\1\1\1", 4));
}

TEST_F(npy, empty_and_scalar_arrays_work) {
  ASSERT_TRUE(write_npy(path("e.npy"), {nullptr, dense(DType::f32, {3, 0, 2})}));
  const auto empty = read_npy(path("e.npy"));
  ASSERT_TRUE(empty) << empty.error().message();
  EXPECT_EQ(empty->bytes.size(), 0);
  EXPECT_EQ(empty->desc.sizes, (std::vector<Index>{3, 0, 2}));
  const double value = 0.5;
  ASSERT_TRUE(write_npy(path("s.npy"), {&value, dense(DType::f64, {})}));
  const auto scalar = read_npy(path("s.npy"));
  ASSERT_TRUE(scalar);
  EXPECT_EQ(scalar->desc.rank(), 0);
  EXPECT_EQ(std::memcmp(scalar->bytes.data(), &value, sizeof value), 0);
}

TEST_F(npy, headers_of_every_length_are_read_from_files) {
  for (const std::size_t axes : {0u, 64u, 21845u, 30000u}) {
    const float value = 1;
    ASSERT_TRUE(write_npy(path("n.npy"), {&value, dense(DType::f32, std::vector<Index>(axes, 1))}));
    const auto array = read_npy(path("n.npy"));
    ASSERT_TRUE(array) << array.error().message();
    EXPECT_EQ(array->desc.sizes.size(), axes);
  }
}

TEST_F(npy, every_truncation_is_refused_and_more_is_ignored) {
  const std::string file = file_with("<f4", "False", "(2, 3)", std::string(24, 'x'));
  for (std::size_t length = 0; length < file.size(); ++length) {
    const auto array = read_npy(put("t.npy", file.substr(0, length)));
    ASSERT_FALSE(array) << length;
    EXPECT_EQ(array.error().code(), Code::io_error);
    EXPECT_EQ(array.error().message().find(path("t.npy") + ": "), 0u) << array.error().message();
    EXPECT_FALSE(read_npy_header(path("t.npy")));
  }
  const auto more = read_npy(put("t.npy", file + "trailing"));
  ASSERT_TRUE(more);
  EXPECT_EQ(text_of(*more), std::string(24, 'x'));
}

TEST_F(npy, a_small_file_that_claims_gigabytes_is_refused) {
  const auto array = read_npy(put("h.npy", file_with("<f8", "False", "(1000000000,)", "x")));
  ASSERT_FALSE(array);
  EXPECT_NE(array.error().message().find("needs 8000000000 bytes of data, but the file has only 1"), std::string::npos)
      << array.error().message();
}

TEST_F(npy, a_limit_is_kept) {
  put("a.npy", file_with("<f4", "False", "(6,)", std::string(24, 'x')));
  EXPECT_TRUE(read_npy(path("a.npy"), 24));
  const auto array = read_npy(path("a.npy"), 23);
  ASSERT_FALSE(array);
  EXPECT_NE(array.error().message().find("24 bytes of data, but at most 23"), std::string::npos);
  // Memory for 16 TB is not even asked for: the file is sparse.
  put("s.npy", file_with("<f8", "False", "(2000000000000,)", ""));
  std::error_code no_room;
  fs::resize_file(path("s.npy"), 16000000001000, no_room);
  if (no_room) return;
  EXPECT_TRUE(read_npy_header(path("s.npy")));
  EXPECT_EQ(read_npy(path("s.npy"), Index{1} << 30).error().code(), Code::io_error);
}

TEST_F(npy, what_cannot_be_written_leaves_no_file) {
  const float value = 1;
  const ConstTensorView kCases[] = {
      {&value, dense(DType::bf16, {1})},
      {&value, dense(DType::best, {1})},
      {&value, dense(DType::f32, {-1})},
      {nullptr, dense(DType::f32, {1})},
      {&value, {.dtype = DType::f32, .sizes = {1, 1}, .strides = {1}}},
      {&value, dense(DType::f32, {1}), {.kind = DeviceKind::cuda}},
  };
  for (const ConstTensorView& view : kCases) {
    const Status status = write_npy(path("a.npy"), view);
    EXPECT_FALSE(status);
    EXPECT_EQ(status.message().find(path("a.npy") + ": "), 0u) << status.message();
  }
  EXPECT_NE(write_npy(path("a.npy"), kCases[0]).message().find("cannot hold bf16"), std::string::npos);
  EXPECT_EQ(entries(), 0u);
}

TEST_F(npy, a_file_can_be_replaced_by_itself) {
  put("a.npy", file_with(">u2", "True", "(2, 2)", std::string("\0\1\0\2\0\3\0\4", 8)));
  const auto first = read_npy(path("a.npy"));
  ASSERT_TRUE(first);
  ASSERT_TRUE(write_npy(path("a.npy"), first->view()));
  const auto second = read_npy(path("a.npy"));
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->header.fortran_order);
  const std::uint16_t expected[] = {1, 3, 2, 4};
  EXPECT_EQ(std::memcmp(second->bytes.data(), expected, sizeof expected), 0);
}

}  // namespace
}  // namespace ndfold::io
