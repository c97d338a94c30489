#include <ndfold/workspace.h>

#include "lib/api/no_exceptions.h"
#include "lib/api/plan_state.h"

#include <cstdlib>
#include <utility>

namespace ndfold {
namespace {

Result<void*> allocate_on(const Device& device, std::size_t bytes, const Stream& stream) {
  if (device.kind == DeviceKind::cuda) return cuda::allocate(bytes, device.ordinal, stream.handle);
  const std::size_t whole = (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
  if (void* const memory = whole < bytes ? nullptr : std::aligned_alloc(kWorkspaceAlignment, whole)) return memory;
  return Status(Code::out_of_memory, "a workspace of " + std::to_string(bytes) + " bytes could not be allocated");
}

}  // namespace

Result<OwnedWorkspace> OwnedWorkspace::allocate(std::size_t bytes, Device device, Stream stream) {
  return or_out_of_memory([&]() -> Result<OwnedWorkspace> {
    OwnedWorkspace workspace;
    if (bytes == 0) return workspace;
    const auto memory = allocate_on(device, bytes, stream);
    if (!memory) return memory.error();
    workspace.memory_ = {.data = *memory, .bytes = bytes};
    workspace.device_ = device;
    workspace.stream_ = stream;
    return workspace;
  });
}

OwnedWorkspace::OwnedWorkspace(OwnedWorkspace&& other) noexcept
    : memory_(std::exchange(other.memory_, {})), device_(other.device_), stream_(other.stream_) {}

OwnedWorkspace& OwnedWorkspace::operator=(OwnedWorkspace&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(device_, other.device_);
  std::swap(stream_, other.stream_);
  return *this;
}

OwnedWorkspace::~OwnedWorkspace() {
  if (memory_.data == nullptr) return;
  if (device_.kind == DeviceKind::cuda)
    cuda::free(memory_.data, device_.ordinal, stream_.handle);
  else
    std::free(memory_.data);
}

}  // namespace ndfold
