// Owned memory: aligned, movable, and a Status when there is none.
#include "lib/io/host_bytes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>

namespace ndfold::io {
namespace {

TEST(host_bytes, are_aligned_at_every_size) {
  for (const Index bytes : {0, 1, 63, 64, 65, 4096, 100001}) {
    auto memory = HostBytes::allocate(bytes);
    ASSERT_TRUE(memory);
    EXPECT_EQ(memory->size(), bytes);
    ASSERT_NE(memory->data(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->data()) % HostBytes::kAlignment, 0u);
    for (std::byte& value : memory->span()) value = std::byte{1};
  }
}

TEST(host_bytes, impossible_sizes_are_a_status) {
  for (const Index bytes : {Index{-1}, (Index{1} << 62) + 1, std::numeric_limits<Index>::max()}) {
    const auto memory = HostBytes::allocate(bytes);
    ASSERT_FALSE(memory);
    EXPECT_EQ(memory.error().code(), Code::out_of_memory);
    EXPECT_NE(memory.error().message().find(std::to_string(bytes)), std::string::npos);
  }
}

TEST(host_bytes, a_move_leaves_nothing_behind) {
  HostBytes first = *HostBytes::allocate(100);
  std::byte* const address = first.data();
  const HostBytes second = std::move(first);
  EXPECT_EQ(second.data(), address);
  EXPECT_EQ(second.size(), 100);
  EXPECT_EQ(first.data(), nullptr);  // NOLINT(bugprone-use-after-move): this is what is tested
  EXPECT_EQ(first.size(), 0);
}

}  // namespace
}  // namespace ndfold::io
