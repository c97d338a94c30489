// The host in a GPU's place: work is done when it is queued, and a graph is what it would do.
#include "tests/gpu/host_machine.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace ndfold::test {
namespace {

constexpr std::size_t kAlignment = 256;
Spoil spoil = {};
int downloads = 0;
constexpr std::size_t kEnoughForSmallCases = std::size_t{1} << 30;

}  // namespace

const std::string& absence() {
  static const std::string kNone;
  return kNone;
}

const DeviceFacts& facts() {
  static const DeviceFacts facts = DeviceFacts::host();
  return facts;
}

void spoil_downloads(const Spoil& how) {
  spoil = how;
  downloads = 0;
}

int device_count() { return 1; }
int current_device() { return 0; }
void make_current(int) {}
void wait_for_device() {}
void leave_an_error() {}
bool finds_the_error() { return true; }
std::size_t free_bytes() { return kEnoughForSmallCases; }

Memory::Memory(std::size_t bytes)
    : data_(static_cast<std::byte*>(std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment))) {
  if (data_ == nullptr) throw std::bad_alloc();
}
Memory::~Memory() { std::free(data_); }

Queue::Queue() = default;
Queue::~Queue() = default;
void Queue::upload(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
void Queue::download(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  const bool meant = spoil.mask != 0 && (spoil.which == 0 || spoil.which == ++downloads);
  if (meant && spoil.at < bytes) static_cast<unsigned char*>(to)[spoil.at] ^= spoil.mask;
}
void Queue::fill(void* to, int byte, std::size_t bytes) { std::memset(to, byte, bytes); }
void Queue::wait() {}

struct Graph::Parts {
  std::function<Status()> work;
};

Graph::Graph(Queue& queue, const std::function<Status()>& work) : queue_(queue), parts_(new Parts{work}) {}
Graph::~Graph() { delete parts_; }
void Graph::launch() {
  status_ = parts_->work();
  queue_.wait();
}
std::string Graph::other_than_kernels(std::size_t) const { return {}; }

}  // namespace ndfold::test
