#include "tests/fake_gpu/fake_gpu.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

namespace ndfold::test {
namespace {

using namespace cuda;

constexpr std::size_t kMostKernels = 4096, kMostLaunches = 512;
constexpr std::uintptr_t kFirstKernel = 0x10000;  // never called: an address is a name
constexpr int kReservedSharedBytes = 1024;        // the driver's, of each block
constexpr int kUsualSharedBytes = 48 * 1024;      // what a kernel may have unasked
constexpr int kFirstThatAwaits = 90;              // kernels for sm_90 wait for the launch before
constexpr Index kPlaceAlignment = 64;             // of whatever lies in a workspace

FakeMachine* machine = nullptr;
thread_local int current = 0;
thread_local bool running = false;

Kernel kernel_called(std::size_t number) {
  return reinterpret_cast<Kernel>(kFirstKernel + 16 * static_cast<std::uintptr_t>(number));
}

bool is_aligned(const void* address, Index bytes) {
  return reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(bytes) == 0;
}

int resident_blocks_of(const FakeDevice& device, const LaunchShape& shape) {
  const GpuNumbers& numbers = device.numbers;
  const Index shared = shape.shared_bytes + kReservedSharedBytes;
  return static_cast<int>(
      std::min({Index{device.most_resident_blocks}, Index{numbers.threads_per_multiprocessor} / shape.threads,
                numbers.shared_bytes_per_multiprocessor / shared,
                Index{numbers.registers_per_multiprocessor} / (Index{device.registers_of_thread} * shape.threads)}));
}

int resident_clusters_of(const FakeDevice& device, const LaunchShape& shape) {
  if (shape.cluster > device.widest_cluster) return 0;
  return resident_blocks_of(device, shape) * device.numbers.multiprocessors / shape.cluster;
}

struct Words {
  ErrorCode error;
  const char* words;
};

constexpr Words kWords[] = {{0, "no error"},
                            {kInvalidValue, "invalid argument"},
                            {kNoMemory, "out of memory"},
                            {kNoDriver, "CUDA driver version is insufficient for CUDA runtime version"},
                            {kInvalidDevice, "invalid device ordinal"},
                            {kTooManyBlocks, "too many blocks in cooperative launch"},
                            {kAsked, kAskedWords}};

FakeDevice device_of(const char* name, int architecture, int multiprocessors, int shared_of_block) {
  FakeDevice device;
  GpuNumbers& numbers = device.numbers;
  std::strncpy(numbers.name, name, sizeof numbers.name - 1);
  numbers.architecture = architecture;
  numbers.multiprocessors = multiprocessors;
  numbers.warp = 32;
  numbers.threads_per_block = 1024;
  numbers.threads_per_multiprocessor = 2048;
  numbers.shared_bytes_per_block = shared_of_block;
  numbers.shared_bytes_per_multiprocessor = shared_of_block + kReservedSharedBytes;
  numbers.registers_per_multiprocessor = 65536;
  numbers.cache_bytes = 60 << 20;
  numbers.memory_kilohertz = 3201000;
  numbers.memory_bits = 6144;
  numbers.cooperative = 1;
  return device;
}

}  // namespace

FakeDevice fake_h200() { return device_of("NVIDIA H200", 90, 132, 227 * 1024); }

FakeDevice fake_sm80() {
  FakeDevice device = device_of("NVIDIA A100 80 GB", 80, 108, 163 * 1024);
  device.widest_cluster = 1;
  return device;
}

FakeDevice fake_slice(int multiprocessors) {
  FakeDevice device = fake_h200();
  device.numbers.multiprocessors = multiprocessors;
  return device;
}

/// The table's functions.
struct FakeFunctions {
  static ErrorCode device_count(int* count) {
    if (machine->quiet) return *count = static_cast<int>(machine->devices_.size()), 0;
    const std::lock_guard lock(machine->mutex_);
    if (const ErrorCode error = machine->enter(Function::device_count); error != 0) return error;
    *count = machine->driver == 0 ? static_cast<int>(machine->devices_.size()) : 0;
    return machine->driver;
  }

  static ErrorCode describe(GpuNumbers* numbers, int ordinal) {
    if (machine->quiet) return *numbers = machine->device(ordinal).numbers, 0;
    const std::lock_guard lock(machine->mutex_);
    if (const ErrorCode error = machine->enter(Function::describe); error != 0) return error;
    if (!is_here(ordinal)) return kInvalidDevice;
    *numbers = machine->device(ordinal).numbers;
    return 0;
  }

  static ErrorCode current_device(int* ordinal) {
    if (machine->quiet) return *ordinal = current, 0;
    const std::lock_guard lock(machine->mutex_);
    if (const ErrorCode error = machine->enter(Function::current_device); error != 0) return error;
    *ordinal = current;
    return 0;
  }

  static ErrorCode make_current(int ordinal) {
    if (machine->quiet) return current = ordinal, 0;
    const std::lock_guard lock(machine->mutex_);
    if (const ErrorCode error = machine->enter(Function::make_current); error != 0) return error;
    if (!is_here(ordinal)) return kInvalidDevice;
    current = ordinal;
    return 0;
  }

  static ErrorCode prepare(Kernel kernel, int shared_bytes, bool wide_cluster, bool* awaits) {
    *awaits = machine->device(current).numbers.architecture >= kFirstThatAwaits;
    if (machine->quiet) return 0;
    const std::lock_guard lock(machine->mutex_);
    if (const ErrorCode error = machine->enter(Function::prepare); error != 0) return error;
    if (machine->name_of(kernel) == nullptr) machine->complain("a kernel that is not in the catalog was prepared");
    if (shared_bytes < 0 || shared_bytes > machine->device(current).numbers.shared_bytes_per_block)
      return kInvalidValue;
    FakeMachine::Ready* ready = machine->ready(kernel);
    if (ready == nullptr)
      ready = &machine->ready_.emplace_back(FakeMachine::Ready{current, kernel, kUsualSharedBytes, false});
    if (shared_bytes > 0) ready->shared_bytes = shared_bytes;  // what it was before is lost: so it is with CUDA
    ready->wide = ready->wide || wide_cluster;
    return 0;
  }

  static ErrorCode resident_blocks(int* blocks, Kernel kernel, const LaunchShape& shape) {
    if (machine->quiet) return *blocks = machine->device(current).most_resident_blocks, 0;
    const std::lock_guard lock(machine->mutex_);
    if (const ErrorCode error = machine->enter(Function::resident_blocks); error != 0) return error;
    if (machine->ready(kernel) == nullptr) machine->complain("blocks were counted before the kernel was prepared");
    *blocks = resident_blocks_of(machine->device(current), shape);
    return 0;
  }

  static ErrorCode resident_clusters(int* clusters, Kernel kernel, const LaunchShape& shape) {
    if (machine->quiet) return *clusters = 1, 0;
    const std::lock_guard lock(machine->mutex_);
    if (const ErrorCode error = machine->enter(Function::resident_clusters); error != 0) return error;
    if (machine->ready(kernel) == nullptr) machine->complain("clusters were counted before the kernel was prepared");
    *clusters = resident_clusters_of(machine->device(current), shape);
    return 0;
  }

  static ErrorCode launch(Kernel kernel, const Arguments& arguments, const LaunchShape& shape, void* stream) {
    if (machine->quiet) return ++machine->quiet_launches_, 0;
    const std::lock_guard lock(machine->mutex_);
    if (const ErrorCode error = machine->enter(Function::launch); error != 0) return error;
    if (const ErrorCode error = machine->check_launch(kernel, arguments, shape); error != 0) return error;
    if (machine->launches_.size() < kMostLaunches)
      machine->launches_.push_back({current, kernel, arguments, shape, stream});
    return 0;
  }

  static ErrorCode allocate(void** memory, std::size_t bytes, void*) {
    if (machine->quiet) return *memory = reinterpret_cast<void*>(std::uintptr_t{3} << 60), 0;
    const std::lock_guard lock(machine->mutex_);
    if (const ErrorCode error = machine->enter(Function::allocate); error != 0) return error;
    if (bytes == 0) machine->complain("no bytes were allocated");
    *memory = reinterpret_cast<void*>((std::uintptr_t{3} << 60) + (static_cast<std::uintptr_t>(current) << 40));
    ++machine->living_;
    return 0;
  }

  static ErrorCode free(void* memory, void*) {
    if (machine->quiet) return 0;
    const std::lock_guard lock(machine->mutex_);
    --machine->living_;  // a call that fails has nobody to tell
    if (const ErrorCode error = machine->enter(Function::free); error != 0) return error;
    const bool elsewhere = static_cast<int>(reinterpret_cast<std::uintptr_t>(memory) >> 40 & 0xff) != current;
    if (elsewhere && machine->failures_ == 0)  // better so than never, where it could not be made current
      machine->complain("memory was freed while another device was current");
    return 0;
  }

  static const char* words(ErrorCode error) {
    for (const Words& row : kWords)
      if (row.error == error) return row.words;
    return "unrecognized error code";
  }

  static Found find_kernel(const KernelKey& key, const Layout& layout) {
    const auto loads = [&] { return std::max(1, 16 / static_cast<int>(size_bytes(key.input))); };
    const bool moves = key.body == Body::elementwise || key.body == Body::permute;
    const bool dense = moves ? layout.dense : key.source == SourceKind::dense || key.source == SourceKind::joined;
    Found found{.kernel = nullptr, .threads = key.tuning.threads > 512 ? 1024 : 512, .pack = dense ? loads() : 1};
    if (machine->quiet) return found.kernel = kernel_called(0), found;
    const std::lock_guard lock(machine->mutex_);
    if (machine->lacks(key)) return {};
    auto& all = machine->kernels_;
    std::size_t number = 0;
    while (number < all.size() && !(all[number].key == key && all[number].layout.dense == layout.dense &&
                                    all[number].layout.same_axis == layout.same_axis))
      ++number;
    if (number == all.size() && number < kMostKernels) all.push_back({key, layout});
    found.kernel = kernel_called(number);
    return found;
  }

  static bool is_here(int ordinal) { return ordinal >= 0 && ordinal < static_cast<int>(machine->devices_.size()); }
};

namespace {

constexpr GpuApi kApi = {.device_count = FakeFunctions::device_count,
                         .describe = FakeFunctions::describe,
                         .current_device = FakeFunctions::current_device,
                         .make_current = FakeFunctions::make_current,
                         .prepare = FakeFunctions::prepare,
                         .resident_blocks = FakeFunctions::resident_blocks,
                         .resident_clusters = FakeFunctions::resident_clusters,
                         .launch = FakeFunctions::launch,
                         .allocate = FakeFunctions::allocate,
                         .free = FakeFunctions::free,
                         .words = FakeFunctions::words};

}  // namespace

FakeMachine::FakeMachine(std::vector<FakeDevice> devices) : devices_(std::move(devices)) {
  kernels_.reserve(kMostKernels);
  ready_.reserve(kMostKernels);
  launches_.reserve(kMostLaunches);
  machine = this;
  current = 0;
  use_backend({.api = &kApi, .find_kernel = FakeFunctions::find_kernel});
}

FakeMachine::~FakeMachine() {
  use_backend(built_backend());
  machine = nullptr;
}

void FakeMachine::fail(long number, bool lasting, ErrorCode error) {
  first_failing_ = number;
  lasting_ = lasting;
  error_ = error;
  asked_ = failures_ = 0;
}

std::string FakeMachine::complaints() {
  const std::lock_guard lock(mutex_);
  return std::exchange(complaints_, {});
}

void FakeMachine::complain(const std::string& what) { complaints_ += what + '\n'; }

// Every call comes through here.
ErrorCode FakeMachine::enter(Function function) {
  ++counts_[static_cast<int>(function)];
  const bool allowed =
      function == Function::launch || function == Function::current_device || function == Function::make_current;
  if (running && !allowed) complain("a run called function " + std::to_string(static_cast<int>(function)));
  const long number = ++asked_;
  const bool fails = first_failing_ > 0 && (lasting_ ? number >= first_failing_ : number == first_failing_);
  if (!fails) return 0;
  ++failures_;
  failed_ = function;
  return error_;
}

const FakeMachine::Named* FakeMachine::name_of(Kernel kernel) const {
  const auto number = (reinterpret_cast<std::uintptr_t>(kernel) - kFirstKernel) / 16;
  return number < kernels_.size() ? &kernels_[number] : nullptr;
}

FakeMachine::Ready* FakeMachine::ready(Kernel kernel) {
  const auto found = std::find_if(ready_.begin(), ready_.end(),
                                  [&](const Ready& one) { return one.device == current && one.kernel == kernel; });
  return found == ready_.end() ? nullptr : &*found;
}

void FakeMachine::check_pointers(const KernelKey& key, const Arguments& arguments) {
  const auto bytes = [](DType type) { return static_cast<Index>(size_bytes(type)); };
  const bool states = key.source == SourceKind::states, leaves = key.sink == SinkKind::store_state;
  if (!is_aligned(arguments.in, states ? kPlaceAlignment : bytes(key.input))) complain("`in` is misaligned");
  if (!is_aligned(arguments.out, leaves ? kPlaceAlignment : bytes(key.output))) complain("`out` is misaligned");
  if (!is_aligned(arguments.values, kPlaceAlignment)) complain("`values` is misaligned");
  if (!is_aligned(arguments.exchange, kPlaceAlignment)) complain("`exchange` is misaligned");
  if (!is_aligned(arguments.counters, kPlaceAlignment)) complain("`counters` is misaligned");
  if (arguments.out == nullptr || (arguments.in == nullptr && arguments.reduced > 0)) complain("a buffer is null");
  if (key.scope == Scope::grid && (arguments.exchange == nullptr || arguments.counters == nullptr))
    complain("blocks share outputs without a place to meet");
}

ErrorCode FakeMachine::check_launch(Kernel kernel, const Arguments& arguments, const LaunchShape& shape) {
  const FakeDevice& device = devices_[static_cast<std::size_t>(current)];
  const Named* const named = name_of(kernel);
  if (named == nullptr) return complain("a kernel that is not in the catalog was launched"), kInvalidValue;
  const Ready* const prepared = ready(kernel);
  if (prepared == nullptr) return complain("the kernel was not prepared on this device"), kInvalidValue;
  const Index blocks = shape.grid_x * shape.grid_y;
  const std::pair<bool, const char*> kLaws[] = {
      {shape.grid_x >= 1 && shape.grid_x <= std::numeric_limits<std::int32_t>::max(), "x is not in 1 … 2^31 - 1"},
      {shape.grid_y >= 1 && shape.grid_y <= 65535, "y is not in 1 … 65535"},
      {shape.threads >= kWarp && shape.threads <= device.numbers.threads_per_block, "threads are not in 32 … 1024"},
      {shape.threads % kWarp == 0, "a warp is not whole"},
      {shape.cluster >= 1 && shape.grid_x % shape.cluster == 0, "clusters do not divide x"},
      {shape.cluster <= 8 || prepared->wide, "the kernel was not prepared for so wide a cluster"},
      {shape.shared_bytes >= 0 && shape.shared_bytes <= device.numbers.shared_bytes_per_block,
       "shared memory is more than a block may have"},
      {shape.shared_bytes <= prepared->shared_bytes, "shared memory is more than the kernel was prepared for"},
      {!shape.cooperative || device.numbers.cooperative != 0, "the device has no cooperative launch"},
      {!shape.cooperative || blocks <= Index{resident_blocks_of(device, shape)} * device.numbers.multiprocessors,
       "blocks that meet are not all resident: this would hang"},
      {shape.cluster == 1 || resident_clusters_of(device, shape) > 0, "no cluster is ever resident: this would hang"},
      {!shape.begins_early || device.numbers.architecture >= kFirstThatAwaits,
       "the launch begins early, and its kernel does not wait"},
      {resident_blocks_of(device, shape) > 0, "not even one block is resident"},
      {arguments.tiles >= 1 && arguments.parts >= 1 && arguments.part >= 0, "tiles or parts are not there"}};
  ErrorCode error = 0;
  for (const auto& [holds, broken] : kLaws) {
    if (holds) continue;
    complain(broken);
    error = shape.cooperative ? kTooManyBlocks : kInvalidValue;
  }
  check_pointers(named->key, arguments);
  return error;
}

Running::Running() { running = true; }
Running::~Running() { running = false; }

int fake_current_device() { return current; }
void make_fake_current(int ordinal) { current = ordinal; }

}  // namespace ndfold::test
