// The grammar of .npy headers: what NumPy writes is read, everything else gets one sentence.
#include "lib/io/npy_header.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace ndfold::io {
namespace {

// Preamble and header as they lie in a file, with nothing checked.
std::string file_start(const std::string& header, int major = 1, int minor = 0) {
  std::string start = "\x93NUMPY";
  start += static_cast<char>(major);
  start += static_cast<char>(minor);
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) start += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return start + header;
}

constexpr Index kPlenty = Index{1} << 40;

Result<NpyHeader> parse_start(const std::string& start, Index file_bytes = kPlenty) {
  return parse_npy_header(std::as_bytes(std::span(start)), file_bytes);
}

Result<NpyHeader> parse(const std::string& header, int major = 1) { return parse_start(file_start(header, major)); }

Result<NpyHeader> parse_with(const std::string& descr, const std::string& shape, const std::string& order = "False") {
  return parse("{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n");
}

TEST(npy_header, reads_what_numpy_writes) {
  const std::string text = "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }      \n";
  for (const int major : {1, 2, 3}) {
    const auto header = parse(text, major);
    ASSERT_TRUE(header) << header.error().message();
    const NpyHeader expected = {.major = major,
                                .dtype = DType::f32,
                                .big_endian = false,
                                .fortran_order = true,
                                .shape = {3, 4},
                                .data_offset = (major == 1 ? 10 : 12) + static_cast<Index>(text.size()),
                                .data_bytes = 48};
    EXPECT_EQ(*header, expected);
  }
}

TEST(npy_header, reads_any_order_of_keys_and_any_spacing) {
  for (const char* text : {
           "{'shape':(3,4),'descr':'<f4','fortran_order':False}",
           "{ \"fortran_order\" : False ,\n\t'shape' : ( 3 , 4 , ) , 'descr' : \"<f4\" , } \r\n",
           "  {'descr': '<f4', 'shape': (3L, 4L), 'fortran_order': False}",
       }) {
    const auto header = parse(text);
    ASSERT_TRUE(header) << text << ": " << header.error().message();
    EXPECT_EQ(header->shape, (std::vector<Index>{3, 4}));
    EXPECT_EQ(header->dtype, DType::f32);
    EXPECT_FALSE(header->fortran_order);
  }
}

TEST(npy_header, knows_every_element_type_and_byte_order) {
  const std::pair<const char*, DType> kTypes[] = {{"f2", DType::f16}, {"f4", DType::f32}, {"f8", DType::f64},
                                                  {"i1", DType::i8},  {"i2", DType::i16}, {"i4", DType::i32},
                                                  {"i8", DType::i64}, {"u1", DType::u8},  {"u2", DType::u16},
                                                  {"u4", DType::u32}, {"u8", DType::u64}, {"b1", DType::boolean}};
  for (const auto& [code, dtype] : kTypes) {
    for (const char order : {'<', '>', '=', '|'}) {
      const auto header = parse_with(std::string("'") + order + code + "'", "(5,)");
      ASSERT_TRUE(header) << order << code;
      EXPECT_EQ(header->dtype, dtype);
      EXPECT_EQ(header->data_bytes, 5 * static_cast<Index>(size_bytes(dtype)));
      EXPECT_EQ(header->big_endian, order == '>' && size_bytes(dtype) > 1) << order << code;
    }
  }
}

TEST(npy_header, reads_any_rank) {
  EXPECT_EQ(parse_with("'<f8'", "()")->data_bytes, 8);
  EXPECT_EQ(parse_with("'<f8'", "(7,)")->shape, std::vector<Index>{7});
  EXPECT_EQ(parse_with("'<f8'", "(0, 3)")->data_bytes, 0);
  std::string ones = "(";
  for (int i = 0; i < 1000; ++i) ones += "1, ";
  EXPECT_EQ(parse_with("'<f8'", ones + ")")->shape.size(), 1000u);
}

struct Refused {
  const char* descr;
  const char* shape;
  const char* order;
  Code code;
  const char* words;  ///< part of the sentence
};

class npy_header_values : public testing::TestWithParam<Refused> {};

TEST_P(npy_header_values, are_refused_with_a_reason) {
  const Refused& bad = GetParam();
  const auto header = parse_with(bad.descr, bad.shape, bad.order);
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().code(), bad.code) << header.error().message();
  EXPECT_NE(header.error().message().find(bad.words), std::string::npos) << header.error().message();
}

INSTANTIATE_TEST_SUITE_P(
    all, npy_header_values,
    testing::Values(Refused{"'|O'", "(3,)", "False", Code::unsupported, "pickled Python objects"},
                    Refused{"'<U5'", "(3,)", "False", Code::unsupported, "Unicode text"},
                    Refused{"'|S5'", "(3,)", "False", Code::unsupported, "byte strings"},
                    Refused{"'|V4'", "(3,)", "False", Code::unsupported, "raw bytes"},
                    Refused{"'<c8'", "(3,)", "False", Code::unsupported, "complex"},
                    Refused{"'<M8[ns]'", "(3,)", "False", Code::unsupported, "dates"},
                    Refused{"'<f16'", "(3,)", "False", Code::unsupported, "floats of neither"},
                    Refused{"'<f3'", "(3,)", "False", Code::unsupported, "floats of neither"},
                    Refused{"'<i16'", "(3,)", "False", Code::unsupported, "unknown"},
                    Refused{"'<b2'", "(3,)", "False", Code::unsupported, "unknown"},
                    Refused{"'f4'", "(3,)", "False", Code::unsupported, "unknown"},
                    Refused{"''", "(3,)", "False", Code::unsupported, "unknown"},
                    Refused{"[('x', '<f4'), ('y', '<i4')]", "(3,)", "False", Code::unsupported, "records"},
                    Refused{"('<f4', (2,))", "(3,)", "False", Code::unsupported, "records"},
                    Refused{"None", "(3,)", "False", Code::io_error, "an element type in quotes"},
                    Refused{"\"<f4", "(3,)", "False", Code::io_error, "a plain ASCII string"},
                    Refused{"'<f\\x34'", "(3,)", "False", Code::io_error, "a plain ASCII string"},
                    Refused{"'<f4'", "(3,)", "false", Code::io_error, "True or False"},
                    Refused{"'<f4'", "(3,)", "0", Code::io_error, "True or False"},
                    Refused{"'<f4'", "(3,)", "Falsey", Code::io_error, "',' or '}'"},
                    Refused{"'<f4'", "(3, -4)", "False", Code::io_error, "the negative size '-4'"},
                    Refused{"'<f4'", "(-0,)", "False", Code::io_error, "the negative size"},
                    Refused{"'<f4'", "(3)", "False", Code::io_error, "not a tuple"},
                    Refused{"'<f4'", "3", "False", Code::io_error, "a tuple of sizes"},
                    Refused{"'<f4'", "[3, 4]", "False", Code::io_error, "a tuple of sizes"},
                    Refused{"'<f4'", "(,)", "False", Code::io_error, "a size"},
                    Refused{"'<f4'", "(3,,4)", "False", Code::io_error, "a size"},
                    Refused{"'<f4'", "(3 4)", "False", Code::io_error, "',' or ')'"},
                    Refused{"'<f4'", "(3.0,)", "False", Code::io_error, "',' or ')'"},
                    Refused{"'<f4'", "(1e3,)", "False", Code::io_error, "',' or ')'"},
                    Refused{"'<f4'", "(0x10,)", "False", Code::io_error, "',' or ')'"},
                    Refused{"'<f4'", "(010,)", "False", Code::io_error, "leading zeros"},
                    Refused{"'<f4'", "(+3,)", "False", Code::io_error, "a size"},
                    Refused{"'<f4'", "(True,)", "False", Code::io_error, "a size"},
                    Refused{"'<f4'", "(3,4", "False", Code::io_error, "belongs"},
                    Refused{"'<f4'", "(9223372036854775808,)", "False", Code::overflow, "does not fit 64 bits"},
                    Refused{"'<f4'", "(99999999999999999999999999,)", "False", Code::overflow, "does not fit 64 bits"},
                    Refused{"'<f4'", "(4611686018427387904, 4)", "False", Code::overflow, "more than 2^63 bytes"},
                    Refused{"'<f8'", "(4294967296, 4294967296)", "False", Code::overflow, "more than 2^63 bytes"},
                    Refused{"'<f8'", "(0, 4294967296, 4294967296)", "False", Code::overflow, "more than 2^63 bytes"},
                    Refused{"'<f4'", "(1000000, 1000000)", "False", Code::io_error,
                            "needs 4000000000000 bytes of data"}));

TEST(npy_header, refuses_what_is_not_the_dictionary) {
  const std::pair<const char*, const char*> kTexts[] = {
      {"", "'{'"},
      {"   \n", "'{'"},
      {"[]", "'{'"},
      {"{}", "lacks the key 'descr'"},
      {"{'descr': '<f4', 'shape': ()}", "lacks the key 'fortran_order'"},
      {"{'descr': '<f4', 'fortran_order': False}", "lacks the key 'shape'"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", "the key 'descr' twice"},
      {"{'shape': (1,), 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "the key 'shape' twice"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}", "unknown key 'x'"},
      {"{'Descr': '<f4', 'fortran_order': False, 'shape': ()}", "unknown key 'Descr'"},
      {"{b'descr': '<f4', 'fortran_order': False, 'shape': ()}", "a key in quotes"},
      {"{'descr' '<f4', 'fortran_order': False, 'shape': ()}", "':'"},
      {"{'descr': '<f4' 'fortran_order': False, 'shape': ()}", "',' or '}'"},
      {"{'descr': '<f4',, 'fortran_order': False, 'shape': ()}", "a key in quotes"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': ()", "',' or '}'"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': ()} + 1", "the end"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': ()}}", "the end"},
      {"__import__('os').system('true')", "'{'"},
  };
  for (const auto& [text, words] : kTexts) {
    const auto header = parse(text);
    ASSERT_FALSE(header) << text;
    EXPECT_EQ(header.error().code(), Code::io_error);
    EXPECT_NE(header.error().message().find(words), std::string::npos) << text << " → " << header.error().message();
  }
}

TEST(npy_header, refuses_a_long_number_suffix_in_version_3) {
  EXPECT_FALSE(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (3L,)}", 3));
}

TEST(npy_header, messages_stay_short_and_printable) {
  const auto header = parse("{'" + std::string(5000, 'k') + "': 1}");
  ASSERT_FALSE(header);
  EXPECT_LT(header.error().message().size(), 200u);
  const auto hostile = parse("\x1b[2J\n\x01");
  ASSERT_FALSE(hostile);
  const std::string message = hostile.error().message();
  for (const char c : message) EXPECT_TRUE(c >= ' ' && c <= '~') << int{c};
}

TEST(npy_header, every_prefix_of_a_good_file_is_refused) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
  const std::string start = file_start(header) + std::string(8, '\1');
  ASSERT_TRUE(parse_start(start, static_cast<Index>(start.size())));
  for (std::size_t length = 0; length < start.size(); ++length) {
    const auto cut = parse_start(start.substr(0, length), static_cast<Index>(length));
    ASSERT_FALSE(cut) << length;
    EXPECT_EQ(cut.error().code(), Code::io_error);
  }
}

TEST(npy_header, bytes_after_the_data_are_ignored) {
  const std::string start = file_start("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n");
  EXPECT_EQ(parse_start(start, static_cast<Index>(start.size()) + 1000)->data_bytes, 8);
}

TEST(npy_header, file_start_must_hold_the_header) {
  const std::string start = file_start("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n");
  const auto header = parse_start(start.substr(0, 40));
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().code(), Code::invalid_argument);
  EXPECT_FALSE(parse_start(start, 0));
  EXPECT_FALSE(parse_start(start, -1));
}

TEST(npy_header, refuses_other_magic_and_versions) {
  EXPECT_NE(parse_start("PK\x03\x04 a zip file").error().message().find("\\x93NUMPY"), std::string::npos);
  EXPECT_NE(parse_start("").error().message().find("\\x93NUMPY"), std::string::npos);
  const std::tuple<int, int, const char*> kVersions[] = {
      {0, 0, "0.0"}, {4, 0, "4.0"}, {1, 1, "1.1"}, {255, 255, "255.255"}};
  for (const auto& [major, minor, words] : kVersions)
    EXPECT_NE(parse_start(file_start("{}", major, minor)).error().message().find(words), std::string::npos);
}

TEST(npy_header, a_huge_header_is_refused_before_it_is_read) {
  std::string start = file_start("", 2);
  for (const std::size_t i : {8u, 9u, 10u, 11u}) start[i] = '\xff';
  const auto header = parse_start(start);
  ASSERT_FALSE(header);
  EXPECT_NE(header.error().message().find("claims 4294967295 bytes"), std::string::npos) << header.error().message();
}

TEST(npy_header, formatted_headers_are_aligned_and_read_back) {
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    for (const std::vector<Index>& shape : {std::vector<Index>{}, {7}, {0}, {3, 4}, std::vector<Index>(70, 1)}) {
      const auto start = format_npy_header(dtype, shape);
      if (dtype == DType::bf16) {
        ASSERT_FALSE(start);
        EXPECT_NE(start.error().message().find("cannot hold bf16"), std::string::npos);
        continue;
      }
      ASSERT_TRUE(start);
      EXPECT_EQ(start->size() % 64, 0u);
      EXPECT_EQ(start->back(), '\n');
      const auto header = parse_start(*start);
      ASSERT_TRUE(header) << header.error().message();
      EXPECT_EQ(header->major, 1);
      EXPECT_EQ(header->dtype, dtype);
      EXPECT_EQ(header->shape, shape);
      EXPECT_EQ(header->data_offset, static_cast<Index>(start->size()));
    }
  }
}

TEST(npy_header, very_many_axes_need_version_2_and_then_none) {
  const std::vector<Index> many(30000, 1);
  const auto start = format_npy_header(DType::u8, many);
  ASSERT_TRUE(start);
  EXPECT_EQ(start->size() % 64, 0u);
  const auto header = parse_start(*start);
  ASSERT_TRUE(header) << header.error().message();
  EXPECT_EQ(header->major, 2);
  EXPECT_EQ(header->shape, many);
  EXPECT_EQ(format_npy_header(DType::u8, std::vector<Index>(400000, 1)).error().code(), Code::unsupported);
}

// Around the length where version 1 ends, each size of header is 64-byte aligned and fits its length field.
TEST(npy_header, the_step_to_version_2_is_exact) {
  bool seen[3] = {};
  for (std::size_t axes = 21780; axes < 21860; ++axes) {
    const auto start = format_npy_header(DType::f32, std::vector<Index>(axes, 1));
    ASSERT_TRUE(start);
    const auto header = parse_start(*start);
    ASSERT_TRUE(header) << axes << ": " << header.error().message();
    EXPECT_EQ(header->data_offset % 64, 0);
    seen[header->major] = true;
  }
  EXPECT_TRUE(seen[1] && seen[2]);
}

}  // namespace
}  // namespace ndfold::io
