// A build without CUDA: nothing runs plans for a GPU.
#include "lib/exec/cuda/gpu_api.h"

namespace ndfold::cuda {

Backend built_backend() { return {}; }

}  // namespace ndfold::cuda
