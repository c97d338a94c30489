// Plain POSIX files. read() and not mmap(): a file that shrinks while it is read must give an error, not a signal.
#include "lib/io/file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

namespace ndfold::io {
namespace {

Status failed(std::string_view what, int error) {
  return {Code::io_error, "cannot " + std::string(what) + ": " + std::generic_category().message(error)};
}

struct FileKind {
  mode_t bits;
  std::string_view name;
};
constexpr FileKind kOtherKinds[] = {
    {S_IFDIR, "a folder"}, {S_IFIFO, "a pipe"}, {S_IFSOCK, "a socket"}, {S_IFCHR, "a device"}, {S_IFBLK, "a device"},
};

Status require_regular(mode_t mode) {
  if (S_ISREG(mode)) return {};
  for (const auto& [bits, name] : kOtherKinds)
    if ((mode & S_IFMT) == bits) return {Code::io_error, "this is " + std::string(name) + ", not a regular file"};
  return {Code::io_error, "this is not a regular file"};
}

// A C string would end at the NUL and name another file.
Status require_plain_name(const std::string& path) {
  if (path.empty()) return {Code::io_error, "the file name is empty"};
  if (path.find('\0') != std::string::npos) return {Code::io_error, "the file name has a NUL byte"};
  return {};
}

std::string temporary_name(const std::string& target) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
    number = static_cast<std::uint64_t>(::getpid());
  char digits[16];
  char* const end = std::to_chars(digits, digits + sizeof digits, number, 16).ptr;
  const std::size_t slash = target.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : target.substr(0, slash + 1);
  return folder + ".ndfold-" + std::string(digits, end) + ".tmp";
}

}  // namespace

Status about_file(const std::string& path, const Status& status) {
  if (status) return status;
  std::string shown;
  for (const char c : path) shown += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? '?' : c;
  return {status.code(), (shown.empty() ? "''" : shown) + ": " + status.message()};
}

InputFile::InputFile(int descriptor, Index bytes, std::string path)
    : descriptor_(descriptor), bytes_(bytes), path_(std::move(path)) {}

InputFile::InputFile(InputFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), bytes_(other.bytes_), path_(std::move(other.path_)) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<InputFile> InputFile::open(const std::string& path) {
  if (const Status status = require_plain_name(path); !status) return about_file(path, status);
  InputFile file(-1, 0, path);
  file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat facts = {};
  if (file.descriptor_ < 0) return about_file(path, failed("open the file", errno));
  if (::fstat(file.descriptor_, &facts) != 0) return about_file(path, failed("look at the file", errno));
  if (const Status status = require_regular(facts.st_mode); !status) return about_file(path, status);
  file.bytes_ = facts.st_size;
  return file;
}

Status InputFile::read_at(Index offset, std::span<std::byte> out) const {
  const auto bytes = static_cast<Index>(out.size());
  const Transfer done = transfer_all(bytes, [&](Index position, std::size_t left) -> Index {
    return ::pread(descriptor_, out.data() + position, left, offset + position);
  });
  if (done.error) return about_file(path_, failed("read the file", done.error));
  if (done.bytes == bytes) return {};
  return about_file(path_, {Code::io_error, "the file became shorter while it was read: " + std::to_string(done.bytes) +
                                                " of " + std::to_string(bytes) + " bytes came"});
}

OutputFile::OutputFile(std::string path, std::string target) : path_(std::move(path)), target_(std::move(target)) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<OutputFile> OutputFile::create(const std::string& path) {
  if (const Status status = require_plain_name(path); !status) return about_file(path, status);
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  OutputFile file(path, real ? std::string(real.get()) : path);

  struct stat old = {};
  const bool replaces = ::stat(file.target_.c_str(), &old) == 0;
  if (replaces)
    if (const Status status = require_regular(old.st_mode); !status) return about_file(path, status);

  constexpr int kAttempts = 8;
  for (int attempt = 0; file.descriptor_ < 0; ++attempt) {
    std::string name = temporary_name(file.target_);
    file.descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file.descriptor_ >= 0)
      file.temporary_ = std::move(name);
    else if ((errno != EEXIST && errno != EINTR) || attempt == kAttempts)
      return about_file(path, failed("create a file in its folder", errno));
  }
  // A file that was private stays private.
  if (replaces && ::fchmod(file.descriptor_, old.st_mode & 0777) != 0)
    return about_file(path, failed("keep the file's permissions", errno));
  return file;
}

Status OutputFile::write(std::span<const std::byte> data) {
  const auto bytes = static_cast<Index>(data.size());
  const Transfer done = transfer_all(bytes, [&](Index position, std::size_t left) -> Index {
    return ::write(descriptor_, data.data() + position, left);
  });
  if (done.bytes == bytes) return {};
  return about_file(path_, failed("write the file", done.error ? done.error : ENOSPC));
}

Status OutputFile::commit() {
  if (::fsync(descriptor_) != 0) return about_file(path_, failed("write the file to the disk", errno));
  // On Linux the descriptor is gone after close() whatever it answers.
  if (::close(std::exchange(descriptor_, -1)) != 0) return about_file(path_, failed("close the file", errno));
  if (::rename(temporary_.c_str(), target_.c_str()) != 0)
    return about_file(path_, failed("give the file its name", errno));
  temporary_.clear();
  return {};
}

}  // namespace ndfold::io
