#include "tests/gpu/bench.h"

#include <cstring>

namespace ndfold::test {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kMargin = 1024;  // of the workspace, on both sides

std::size_t round_up(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

void Bench::lay_out(const Array& in, const Array* out, std::size_t workspace_bytes) {
  in_ = &in;
  out_ = out;
  out_place_ = round_up(in.total_bytes());
  const std::size_t out_bytes = out == nullptr ? 0 : out->total_bytes();
  workspace_place_ = round_up(out_place_ + out_bytes) + kMargin;
  workspace_bytes_ = workspace_bytes;
  total_ = workspace_place_ + workspace_bytes + kMargin;
  if (total_ > capacity_) {
    memory_.reset();
    capacity_ = 2 * total_;
    memory_ = std::make_unique<Memory>(capacity_);
  }
  before_.assign(total_, kPoison);
  after_.resize(total_);
  if (out != nullptr) std::memcpy(before_.data() + out_place_, out->bytes(), out_bytes);
}

void* Bench::data_of(const Array* array, std::size_t at) const {
  return memory_->data() + at + (static_cast<const std::byte*>(array->data()) - array->bytes());
}

Workspace Bench::workspace() const {
  if (workspace_bytes_ == 0) return {};
  return {.data = memory_->data() + workspace_place_, .bytes = workspace_bytes_};
}

void Bench::put(const Array& in, int garbage) {
  std::memcpy(before_.data(), in.bytes(), in.total_bytes());
  std::memset(before_.data() + workspace_place_, garbage, workspace_bytes_);
  queue_.upload(memory_->data(), before_.data(), total_);
}

std::string Bench::take(Array& out) {
  queue_.download(after_.data(), memory_->data(), total_);
  const auto is_same = [&](std::size_t first, std::size_t end) {
    return std::memcmp(before_.data() + first, after_.data() + first, end - first) == 0;
  };
  const std::size_t out_first = out_ == nullptr ? 0 : out_place_, out_end = out_first + out.total_bytes();
  const std::size_t workspace_end = workspace_place_ + workspace_bytes_;
  std::memcpy(out.bytes(), after_.data() + out_first, out.total_bytes());
  if (!is_same(0, out_first)) return "the input, or what lies around it, was written to";
  if (!is_same(out_end, workspace_place_)) return "bytes before the workspace were written";
  if (!is_same(workspace_end, total_)) return "bytes after the workspace were written";
  return {};
}

}  // namespace ndfold::test
