// The device's side of a trial: one block of memory with input, output and workspace, each among poison.
#pragma once
#include "tests/gpu/machine.h"
#include "tests/support/buffers.h"

#include <memory>

namespace ndfold::test {

/// Where a trial's arrays lie. Arrays are copied with their margins, which are poison: NaN around floats.
class Bench {
 public:
  /// In place when `out` is null. Everything that was here is gone.
  void lay_out(const Array& in, const Array* out, std::size_t workspace_bytes);

  const void* in() const { return data_of(in_, 0); }
  void* out() const { return out_ == nullptr ? data_of(in_, 0) : data_of(out_, out_place_); }
  Workspace workspace() const;

  /// Everything on the device, as it is before a run. `garbage` is what the workspace holds.
  void put(const Array& in, int garbage);
  /// Waits, brings the output back, and says what else was written.
  std::string take(Array& out);

  Queue& queue() { return queue_; }

 private:
  void* data_of(const Array* array, std::size_t at) const;

  Queue queue_;
  std::unique_ptr<Memory> memory_;
  std::size_t capacity_ = 0, total_ = 0;
  std::vector<std::byte> before_, after_;
  const Array *in_ = nullptr, *out_ = nullptr;
  std::size_t out_place_ = 0, workspace_place_ = 0, workspace_bytes_ = 0;
};

}  // namespace ndfold::test
