// Files as .npy needs them: an input that is a regular file, an output that appears whole or not at all.
#pragma once
#include <ndfold/dtype.h>
#include <ndfold/status.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <string>

namespace ndfold::io {

struct Transfer {
  Index bytes = 0;  ///< done
  int error = 0;    ///< errno; 0 when all was done or the file ended
};

/// Repeats call(position, bytes left), which answers like read(2) and write(2), until `bytes` are done, it answers 0,
/// or it fails with anything but EINTR.
template <class Call>
Transfer transfer_all(Index bytes, Call call) {
  Transfer result;
  while (result.bytes < bytes) {
    const Index done = call(result.bytes, static_cast<std::size_t>(bytes - result.bytes));
    if (done > 0)
      result.bytes += done;
    else if (done == 0)
      break;
    else if (errno != EINTR)
      return {.bytes = result.bytes, .error = errno};
  }
  return result;
}

/// The status with the file's name before its sentence.
Status about_file(const std::string& path, const Status& status);

/// A regular file, open for reading.
class InputFile {
 public:
  /// @return io_error for what cannot be opened and for folders, pipes, sockets and devices; never waits for a pipe.
  static Result<InputFile> open(const std::string& path);

  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  Index bytes() const { return bytes_; }  ///< of the whole file, when it was opened
  /// Fills all of `out` with the bytes from `offset` on.
  Status read_at(Index offset, std::span<std::byte> out) const;

 private:
  InputFile(int descriptor, Index bytes, std::string path);
  int descriptor_ = -1;
  Index bytes_ = 0;
  std::string path_;
};

/// A file under a temporary name in the folder of its target; commit() gives it its name, the destructor removes it.
class OutputFile {
 public:
  /// @return io_error when the target exists and is no regular file, or when its folder refuses a new file.
  static Result<OutputFile> create(const std::string& path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  Status write(std::span<const std::byte> data);
  /// To the disk, then under the target's name. Call once, last.
  Status commit();

 private:
  OutputFile(std::string path, std::string target);
  int descriptor_ = -1;
  std::string path_;       ///< as the caller gave it, for messages
  std::string target_;     ///< with links followed
  std::string temporary_;  ///< empty when there is nothing to remove
};

}  // namespace ndfold::io
