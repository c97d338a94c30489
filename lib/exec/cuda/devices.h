// The GPUs of this machine: what is known of them, and which one is current.
#pragma once
#include <ndfold/spec.h>

#include "lib/exec/cuda/gpu_api.h"

namespace ndfold::cuda {

/// What DeviceFacts::cuda() copies, and options that name the device and nothing else: made once, they stay where they
/// are until use_backend().
Result<const DeviceFacts*> facts_of(int ordinal);
Result<const PlanOptions*> options_of(int ordinal);

/// Whether a plan for `facts` can run on its GPU, or why not.
Status check_device(const DeviceFacts& facts);

/// "what: CUDA's words for the error".
Status failed(const std::string& what, ErrorCode error);

/// Makes a GPU current, and what was current before again at the end.
class OnDevice {
 public:
  explicit OnDevice(int ordinal);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  /// Of making it current.
  ErrorCode error() const { return error_; }

 private:
  int before_ = 0;
  bool changed_ = false;
  ErrorCode error_ = 0;
};

}  // namespace ndfold::cuda
