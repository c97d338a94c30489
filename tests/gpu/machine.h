// The device that these tests run on: a GPU (cuda_machine.cpp), or the host in its place (host_machine.cpp), so that
// the same bodies are known to be right where there is no GPU. A failed call to CUDA throws.
#pragma once
#include <ndfold/device.h>
#include <ndfold/workspace.h>

#include <cstddef>
#include <functional>
#include <string>

namespace ndfold::test {

/// Empty, or why nothing can run here.
const std::string& absence();

/// The first GPU, as the library describes it.
const DeviceFacts& facts();
inline bool is_gpu() { return facts().kind == DeviceKind::cuda; }
inline Device place() { return {.kind = facts().kind, .ordinal = 0}; }

int device_count();
int current_device();
void make_current(int ordinal);
void wait_for_device();
std::size_t free_bytes();
/// A mistake of the caller's own, which CUDA remembers; and whether it still does: then it forgets.
void leave_an_error();
bool finds_the_error();

/// Memory of the current device, aligned to 256 bytes.
class Memory {
 public:
  explicit Memory(std::size_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

/// A stream of its own that waits for no other; nothing where there is no device.
class Queue {
 public:
  Queue();
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  Stream get() const { return {.handle = handle_, .workers = nullptr}; }
  void upload(void* to, const void* from, std::size_t bytes);
  void download(void* to, const void* from, std::size_t bytes);  ///< waits
  void fill(void* to, int byte, std::size_t bytes);
  void wait();  ///< throws what went wrong in the work

 private:
  void* handle_ = nullptr;
};

/// What `work` queues, captured in CUDA's strictest mode and launched at will.
class Graph {
 public:
  Graph(Queue& queue, const std::function<Status()>& work);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const Status& status() const { return status_; }  ///< of `work`; nothing can be launched unless ok
  void launch();
  /// Empty, or what the graph has besides this many kernels.
  std::string other_than_kernels(std::size_t kernels) const;

 private:
  struct Parts;
  Queue& queue_;
  Parts* parts_ = nullptr;
  Status status_;
};

}  // namespace ndfold::test
