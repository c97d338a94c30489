// A model of GPUs behind the table of CUDA's functions: it records calls, fails those it is told to, and complains of
// what a GPU would refuse, or hang on. Kernels have names and no text: nothing is computed.
#pragma once
#include "lib/exec/cuda/gpu_api.h"

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace ndfold::test {

/// What a device says of itself, and what only its answers to questions tell.
struct FakeDevice {
  cuda::GpuNumbers numbers;
  int registers_of_thread = 64;   ///< of every kernel
  int most_resident_blocks = 32;  ///< of a multiprocessor
  int widest_cluster = 16;        ///< that is ever resident; 1: no clusters
};

FakeDevice fake_h200();
FakeDevice fake_sm80();
/// An H200 of so many multiprocessors.
FakeDevice fake_slice(int multiprocessors);

enum class Function {
  device_count,
  describe,
  current_device,
  make_current,
  prepare,
  resident_blocks,
  resident_clusters,
  launch,
  allocate,
  free
};
inline constexpr int kFunctionCount = 10;

struct FakeLaunch {
  int device = 0;
  cuda::Kernel kernel = nullptr;
  cuda::Arguments arguments;
  cuda::LaunchShape shape;
  void* stream = nullptr;
};

/// The errors that CUDA would give, and the one that tests ask for.
inline constexpr cuda::ErrorCode kInvalidValue = 1, kNoMemory = 2, kNoDriver = 35, kInvalidDevice = 101,
                                 kTooManyBlocks = 720, kAsked = 999;
inline constexpr const char* kAskedWords = "as the test has asked";

/// The backend in use while it lives. Its functions allocate no memory.
class FakeMachine {
 public:
  explicit FakeMachine(std::vector<FakeDevice> devices);
  ~FakeMachine();
  FakeMachine(const FakeMachine&) = delete;
  FakeMachine& operator=(const FakeMachine&) = delete;

  /// Counts calls from here on, all but words(); the given one fails, or, as `lasting`, it and all that follow.
  void fail(long number, bool lasting = false, cuda::ErrorCode error = kAsked);
  void fail_nothing() { fail(0); }
  long failures() const { return failures_; }
  long calls(Function function) const { return counts_[static_cast<int>(function)]; }
  /// The function whose call was made to fail last.
  Function failed() const { return failed_; }

  const std::vector<FakeLaunch>& launches() const { return launches_; }
  void forget_launches() { launches_.clear(); }
  long living() const { return living_; }  ///< workspaces

  /// What was wrong so far, a line each; empty when all is well. Asking forgets it.
  std::string complaints();

  /// A row of the catalog that is not there.
  std::function<bool(const KernelKey&)> lacks = [](const KernelKey&) { return false; };
  /// Nothing is recorded, checked or locked: threads meet only where the library lets them meet.
  bool quiet = false;
  /// Of device_count(): no driver, for one.
  cuda::ErrorCode driver = 0;

  FakeDevice& device(int ordinal) { return devices_[static_cast<std::size_t>(ordinal)]; }

 private:
  friend struct FakeFunctions;
  struct Named {
    KernelKey key;
    cuda::Layout layout;
  };
  struct Ready {
    int device;
    cuda::Kernel kernel;
    int shared_bytes;
    bool wide;
  };

  cuda::ErrorCode enter(Function function);
  void complain(const std::string& what);
  const Named* name_of(cuda::Kernel kernel) const;
  Ready* ready(cuda::Kernel kernel);
  cuda::ErrorCode check_launch(cuda::Kernel kernel, const cuda::Arguments& arguments, const cuda::LaunchShape& shape);
  void check_pointers(const KernelKey& key, const cuda::Arguments& arguments);

  std::mutex mutex_;
  std::vector<FakeDevice> devices_;
  std::vector<Named> kernels_;
  std::vector<Ready> ready_;
  std::vector<FakeLaunch> launches_;
  std::string complaints_;
  long first_failing_ = 0, asked_ = 0, failures_ = 0, living_ = 0;
  long counts_[kFunctionCount] = {};
  bool lasting_ = false;
  cuda::ErrorCode error_ = kAsked;
  Function failed_ = Function::device_count;
  std::atomic<long> quiet_launches_ = 0;
};

/// While it lives, this thread may launch, ask which device is current, and make another one current: nothing else.
class Running {
 public:
  Running();
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
};

/// Of this thread.
int fake_current_device();
void make_fake_current(int ordinal);

}  // namespace ndfold::test
