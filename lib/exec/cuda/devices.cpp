#include "lib/exec/cuda/devices.h"

#include <map>
#include <mutex>
#include <string>

namespace ndfold {
namespace cuda {
namespace {

// Of the peak that its memory clock promises, where nobody has measured: what an H200 and an A100 reach.
constexpr double kReadShare = 0.93, kCopyShare = 0.88;
constexpr int kFirstWithClusters = 90;  // and with launches that overlap
constexpr int kClusterBlocks = 16;      // of sm_90 and later, with leave of the driver

struct Known {
  std::mutex mutex;
  std::map<int, PlanOptions> options;
  Backend backend = built_backend();
};

Known& known() {
  static Known* const all = new Known;  // never destroyed: plans may run while the process ends
  return *all;
}

// A measured GPU of the same name, else the one of the nearest architecture with its own memory's clock.
DeviceFacts timed_like(const GpuNumbers& numbers) {
  static const DeviceFacts kMeasured[] = {DeviceFacts::h200(), DeviceFacts::a100()};
  const DeviceFacts* like = &kMeasured[0];
  for (const DeviceFacts& measured : kMeasured) {
    if (measured.name == numbers.name) return measured;
    if (measured.architecture <= numbers.architecture && like->architecture > numbers.architecture) like = &measured;
  }
  DeviceFacts facts = *like;
  const double peak = 2.0 * numbers.memory_kilohertz * numbers.memory_bits / 8 * 1e-6;  // two transfers a clock
  if (peak > 0) {
    facts.read_gigabytes_per_second = peak * kReadShare;
    facts.copy_gigabytes_per_second = peak * kCopyShare;
  }
  return facts;
}

DeviceFacts facts_from(const GpuNumbers& numbers, int ordinal) {
  DeviceFacts facts = timed_like(numbers);
  facts.name = numbers.name;
  facts.kind = DeviceKind::cuda;
  facts.ordinal = ordinal;
  facts.architecture = numbers.architecture;
  facts.multiprocessors = numbers.multiprocessors;
  facts.lanes = numbers.warp;
  facts.threads_per_block = numbers.threads_per_block;
  facts.threads_per_multiprocessor = numbers.threads_per_multiprocessor;
  facts.cluster_blocks = numbers.architecture >= kFirstWithClusters ? kClusterBlocks : 1;
  facts.cooperative = numbers.cooperative != 0;
  facts.launches_overlap = numbers.architecture >= kFirstWithClusters;
  facts.shared_bytes_per_block = numbers.shared_bytes_per_block;
  facts.shared_bytes_per_multiprocessor = numbers.shared_bytes_per_multiprocessor;
  facts.register_bytes_per_multiprocessor = Index{4} * numbers.registers_per_multiprocessor;
  facts.cache_bytes = numbers.cache_bytes;
  return facts;
}

std::string name_of(int ordinal) { return "cuda:" + std::to_string(ordinal); }

Result<DeviceFacts> ask(int ordinal) {
  const GpuApi* const api = backend().api;
  if (api == nullptr) return Status(Code::unsupported, "this build of ndfold has no CUDA: it runs on a CPU only");
  int count = 0;
  if (const ErrorCode error = api->device_count(&count); error != 0)
    return Status(Code::unsupported, "there is no GPU that CUDA can use here: " + std::string(api->words(error)));
  if (ordinal < 0 || ordinal >= count)
    return Status(Code::unsupported, name_of(ordinal) + " is not here: this machine has " + std::to_string(count) +
                                         (count == 1 ? " GPU" : " GPUs"));
  GpuNumbers numbers;
  if (const ErrorCode error = api->describe(&numbers, ordinal); error != 0)
    return failed(name_of(ordinal) + " cannot be described", error);
  return facts_from(numbers, ordinal);
}

}  // namespace

const Backend& backend() { return known().backend; }

void use_backend(const Backend& other) {
  const std::lock_guard lock(known().mutex);
  known().backend = other;
  known().options.clear();
}

Status failed(const std::string& what, ErrorCode error) {
  return Status(Code::internal, what + ": " + backend().api->words(error));
}

Result<const PlanOptions*> options_of(int ordinal) {
  const std::lock_guard lock(known().mutex);
  auto& options = known().options;
  if (const auto found = options.find(ordinal); found != options.end()) return &found->second;
  auto facts = ask(ordinal);
  if (!facts) return facts.error();
  return &options.emplace(ordinal, PlanOptions{.device = *std::move(facts)}).first->second;
}

Result<const DeviceFacts*> facts_of(int ordinal) {
  const auto options = options_of(ordinal);
  if (!options) return options.error();
  return &(*options)->device;
}

Status check_device(const DeviceFacts& facts) {
  const auto found = facts_of(facts.ordinal);
  if (!found) return Status(found.error().code(), "the plan is for " + facts.name + ": " + found.error().message());
  const DeviceFacts& here = **found;
  if (here.architecture == facts.architecture) return {};
  return Status(Code::unsupported, "the plan is for sm_" + std::to_string(facts.architecture) + " (" + facts.name +
                                       "), " + name_of(facts.ordinal) + " is sm_" + std::to_string(here.architecture) +
                                       " (" + here.name + ")");
}

OnDevice::OnDevice(int ordinal) {
  const GpuApi& api = *backend().api;
  error_ = api.current_device(&before_);
  if (error_ != 0 || before_ == ordinal) return;
  error_ = api.make_current(ordinal);
  changed_ = error_ == 0;
}

OnDevice::~OnDevice() {
  if (changed_) backend().api->make_current(before_);
}

}  // namespace cuda

Result<DeviceFacts> DeviceFacts::cuda(int ordinal) {
  const auto facts = cuda::facts_of(ordinal);
  if (!facts) return facts.error();
  return **facts;
}

}  // namespace ndfold
