// What the planner knows of a device: plain numbers, so that a plan for any device can be made on any machine.
#pragma once
#include <ndfold/status.h>
#include <ndfold/view.h>

#include <string>

namespace ndfold {

/// On a CPU a "block" is a unit of work that one core runs, its threads are SIMD lanes, and its shared memory is the
/// scratch that a core keeps near; cluster and cooperative launches do not exist there.
struct DeviceFacts {
  std::string name = "host";
  DeviceKind kind = DeviceKind::cpu;
  int ordinal = 0;                     ///< which GPU of the machine runs the plan; 0 on a CPU
  int architecture = 0;                ///< 90 for sm_90; 0 on a CPU
  int multiprocessors = 1;             ///< SMs, or cores; never changes results, only estimates
  int lanes = 16;                      ///< threads of a warp, or f32 lanes of the widest SIMD step
  int threads_per_block = 1;           ///< at most
  int threads_per_multiprocessor = 1;  ///< at most
  int cluster_blocks = 1;              ///< at most, 1 = no clusters
  bool cooperative = false;            ///< all blocks of a launch can be resident and meet at a barrier
  bool launches_overlap = false;       ///< a launch begins while the one before ends
  Index shared_bytes_per_block = 0;    ///< at most
  Index shared_bytes_per_multiprocessor = 0;
  Index register_bytes_per_multiprocessor = 0;
  Index cache_bytes = 0;                 ///< L2 of a GPU; L2 of one core on a CPU
  Index shared_cache_bytes = 0;          ///< the last cache that a CPU's cores share; 0 on a GPU
  double read_gigabytes_per_second = 1;  ///< a read-only stream
  double copy_gigabytes_per_second = 1;  ///< read + written
  double launch_microseconds = 0;        ///< of one more step in a schedule
  double cooperative_launch_microseconds = 0;
  double grid_barrier_microseconds = 0;
  double cluster_barrier_microseconds = 0;

  friend bool operator==(const DeviceFacts&, const DeviceFacts&) = default;

  /// This machine's CPU.
  static DeviceFacts host();
  /// GPU `ordinal` of this machine, as its driver describes it: asked once.
  /// @return unsupported: no CUDA in this build, no driver, or no such GPU.
  static Result<DeviceFacts> cuda(int ordinal = 0);
  /// NVIDIA H200 (sm_90): measured, docs/measurements/h200-facts.md.
  static DeviceFacts h200();
  /// NVIDIA A100 80 GB (sm_80): from its data sheet, docs/measurements/a100-facts.md.
  static DeviceFacts a100();
};

}  // namespace ndfold
