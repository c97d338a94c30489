// The devices that plans are made for: this machine's CPU, and two GPUs that need not be here.
#include <ndfold/device.h>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

namespace ndfold {
namespace {

constexpr Index kKibi = 1024;
constexpr Index kMebi = 1024 * kKibi;
constexpr Index kUsualCacheBytes = kMebi;  // of a core, where the system does not say
constexpr Index kUsualSharedCacheBytes = 32 * kMebi;

// One core and its share of memory, docs/measurements/host-panels.md; several cores soon share one bus.
constexpr double kCoreReadGigabytes = 34;
constexpr double kCoreCopyGigabytes = 50;
constexpr int kCoresThatFillTheBus = 4;

int cores_of_this_process() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

int float_lanes() {
#if defined(__x86_64__) || defined(__i386__)
  if (__builtin_cpu_supports("avx512f")) return 16;
  if (__builtin_cpu_supports("avx2")) return 8;
#endif
  return 4;
}

// Of the cores that share it with the first one. glibc's _SC_LEVEL3_CACHE_SIZE adds up a whole socket on some machines.
Index shared_cache_bytes() {
  char text[32];
  const int file = open("/sys/devices/system/cpu/cpu0/cache/index3/size", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const auto length = read(file, text, sizeof text);
  close(file);
  Index kibi = 0;
  if (length > 0) std::from_chars(text, text + length, kibi);
  return kibi * kKibi;
}

DeviceFacts ask_host() {
  const int cores = cores_of_this_process();
  const int streams = std::min(cores, kCoresThatFillTheBus);
  const Index cache = sysconf(_SC_LEVEL2_CACHE_SIZE), shared = shared_cache_bytes();
  return {.name = "host",
          .kind = DeviceKind::cpu,
          .multiprocessors = cores,
          .lanes = float_lanes(),
          .cache_bytes = cache > 0 ? cache : kUsualCacheBytes,
          .shared_cache_bytes = shared > 0 ? shared : kUsualSharedCacheBytes,
          .read_gigabytes_per_second = kCoreReadGigabytes * streams,
          .copy_gigabytes_per_second = kCoreCopyGigabytes * streams,
          .launch_microseconds = 1};
}

}  // namespace

// Asked once: options hold a copy by default, and they compare by value in the plan cache.
DeviceFacts DeviceFacts::host() {
  static const DeviceFacts facts = ask_host();
  return facts;
}

DeviceFacts DeviceFacts::h200() {
  return {.name = "NVIDIA H200",
          .kind = DeviceKind::cuda,
          .architecture = 90,
          .multiprocessors = 132,
          .lanes = 32,
          .threads_per_block = 1024,
          .threads_per_multiprocessor = 2048,
          .cluster_blocks = 16,
          .cooperative = true,
          .launches_overlap = true,
          .shared_bytes_per_block = 227 * kKibi,
          .shared_bytes_per_multiprocessor = 228 * kKibi,
          .register_bytes_per_multiprocessor = 256 * kKibi,
          .cache_bytes = 60 * kMebi,
          .read_gigabytes_per_second = 4520,
          .copy_gigabytes_per_second = 4270,
          .launch_microseconds = 3.9,
          .cooperative_launch_microseconds = 4.2,
          .grid_barrier_microseconds = 1.0,
          .cluster_barrier_microseconds = 0.2};
}

DeviceFacts DeviceFacts::a100() {
  return {.name = "NVIDIA A100 80 GB",
          .kind = DeviceKind::cuda,
          .architecture = 80,
          .multiprocessors = 108,
          .lanes = 32,
          .threads_per_block = 1024,
          .threads_per_multiprocessor = 2048,
          .cluster_blocks = 1,
          .cooperative = true,
          .shared_bytes_per_block = 163 * kKibi,
          .shared_bytes_per_multiprocessor = 164 * kKibi,
          .register_bytes_per_multiprocessor = 256 * kKibi,
          .cache_bytes = 40 * kMebi,
          .read_gigabytes_per_second = 1920,
          .copy_gigabytes_per_second = 1815,
          .launch_microseconds = 3.9,
          .cooperative_launch_microseconds = 4.2,
          .grid_barrier_microseconds = 1.3,
          .cluster_barrier_microseconds = 0};
}

}  // namespace ndfold
