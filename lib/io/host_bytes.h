// HostBytes: memory of the host that is owned, aligned for any vector load, and never a reason to throw.
#pragma once
#include <ndfold/dtype.h>
#include <ndfold/status.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

namespace ndfold::io {

class HostBytes {
 public:
  static constexpr Index kAlignment = 64;

  HostBytes() = default;

  /// @return out_of_memory when there is not that much; the content is not initialized.
  static Result<HostBytes> allocate(Index bytes) {
    const auto none = [bytes] {
      return Status(Code::out_of_memory, "there is no memory for " + std::to_string(bytes) + " bytes of data");
    };
    if (bytes < 0 || bytes > kMostBytes) return none();
    const Index padded = (bytes / kAlignment + 1) * kAlignment;
    HostBytes result;
    result.data_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, static_cast<std::size_t>(padded))));
    if (!result.data_) return none();
    result.size_ = bytes;
    return result;
  }

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  Index size() const { return data_ ? size_ : 0; }
  std::span<std::byte> span() { return {data(), static_cast<std::size_t>(size())}; }
  std::span<const std::byte> span() const { return {data(), static_cast<std::size_t>(size())}; }

 private:
  static constexpr Index kMostBytes = Index{1} << 62;
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::byte, Free> data_;
  Index size_ = 0;
};

}  // namespace ndfold::io
