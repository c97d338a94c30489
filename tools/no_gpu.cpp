// tools/gpu.h in a build without CUDA.
#include "tools/gpu.h"

namespace ndfold::cli {
namespace {

Status refused() { return {Code::unsupported, "this build of ndfold has no CUDA"}; }

}  // namespace

struct Recording::Graph {};

void GpuBytes::Free::operator()(void*) const {}
void Recording::Destroy::operator()(Graph*) const {}

Result<GpuBytes> GpuBytes::allocate(Index) { return refused(); }
Status use_gpu(int) { return refused(); }
Status copy_to_gpu(std::byte*, std::span<const std::byte>) { return refused(); }
Status copy_from_gpu(std::span<std::byte>, const std::byte*) { return refused(); }
Status copy_on_gpu(std::byte*, const std::byte*, Index, Stream) { return refused(); }
Result<Recording> Recording::record(const std::function<Status(Stream)>&) { return refused(); }
Result<double> Recording::seconds() { return refused(); }

}  // namespace ndfold::cli
