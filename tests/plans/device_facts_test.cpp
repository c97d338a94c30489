// The devices' numbers: plain, plausible, and the same each time they are asked for.
#include <ndfold/device.h>

#include <gtest/gtest.h>

namespace ndfold {
namespace {

TEST(DeviceFacts, TheHostIsAskedOnce) {
  const DeviceFacts host = DeviceFacts::host();
  EXPECT_EQ(host, DeviceFacts::host());
  EXPECT_EQ(host.kind, DeviceKind::cpu);
  EXPECT_GE(host.multiprocessors, 1);
  EXPECT_TRUE(host.lanes == 4 || host.lanes == 8 || host.lanes == 16) << host.lanes;
  EXPECT_GE(host.cache_bytes, 32 * 1024);
  EXPECT_GE(host.shared_cache_bytes, host.cache_bytes);
  EXPECT_EQ(host.cluster_blocks, 1);
  EXPECT_FALSE(host.cooperative);
}

TEST(DeviceFacts, GpusAreWhatTheirMakerSays) {
  const DeviceFacts h200 = DeviceFacts::h200(), a100 = DeviceFacts::a100();
  EXPECT_EQ(h200.architecture, 90);
  EXPECT_EQ(a100.architecture, 80);
  EXPECT_EQ(a100.cluster_blocks, 1) << "clusters came with sm_90";
  for (const DeviceFacts& gpu : {h200, a100}) {
    EXPECT_EQ(gpu.kind, DeviceKind::cuda);
    EXPECT_EQ(gpu.lanes, 32);
    EXPECT_LT(gpu.shared_bytes_per_block, gpu.shared_bytes_per_multiprocessor);
    EXPECT_GE(gpu.cooperative_launch_microseconds, gpu.launch_microseconds);
    EXPECT_GE(gpu.read_gigabytes_per_second, gpu.copy_gigabytes_per_second);
  }
  EXPECT_NE(h200, a100);
}

}  // namespace
}  // namespace ndfold
