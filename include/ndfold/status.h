// Errors are values: a code for programs and one sentence for people.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace ndfold {

enum class Code : std::uint8_t {
  ok,
  invalid_argument,     ///< an argument contradicts itself or another one
  unsupported,          ///< a valid request that this library or build does not do
  overflow,             ///< sizes or strides that do not fit 64 bits
  overlap,              ///< input and output share memory in a way that is not allowed
  empty_reduction,      ///< max, min, argmax or argmin of no elements
  workspace_too_small,  ///< the workspace is missing, too small or misaligned
  out_of_memory,
  io_error,  ///< a file could not be read or written
  internal,  ///< a defect of ndfold
};

constexpr std::string_view name(Code code) {
  constexpr std::string_view kNames[] = {"ok",        "invalid argument", "unsupported",         "overflow",
                                         "overlap",   "empty reduction",  "workspace too small", "out of memory",
                                         "I/O error", "internal error"};
  return static_cast<std::size_t>(code) < std::size(kNames) ? kNames[static_cast<std::size_t>(code)] : "unknown";
}

/// Success, or a code and one sentence that names the argument and both values.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::ok; }
  explicit operator bool() const { return ok(); }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  friend bool operator==(const Status&, const Status&) = default;

 private:
  Code code_ = Code::ok;
  std::string message_;
};

/// Thrown only by Result::value(), for callers who like exceptions.
class Error : public std::runtime_error {
 public:
  explicit Error(const Status& status) : std::runtime_error(status.message()), code_(status.code()) {}
  Code code() const { return code_; }

 private:
  Code code_;
};

/// A value or the Status that explains its absence. Member names follow std::expected.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Status status) : state_(std::move(status)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  /// @throws Error when there is no value.
  const T& value() const& { return require(), std::get<0>(state_); }
  T& value() & { return require(), std::get<0>(state_); }
  T&& value() && { return require(), std::get<0>(std::move(state_)); }

  /// The value, unchecked: only after has_value().
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T& operator*() & { return *std::get_if<0>(&state_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&state_)); }
  const T* operator->() const { return std::get_if<0>(&state_); }
  T* operator->() { return std::get_if<0>(&state_); }

  /// The reason; success when there is a value.
  const Status& error() const& {
    static const Status kNone;
    return has_value() ? kNone : *std::get_if<1>(&state_);
  }
  Status error() && { return has_value() ? Status() : std::move(*std::get_if<1>(&state_)); }

 private:
  void require() const {
    if (!has_value()) throw Error(std::get<1>(state_));
  }
  std::variant<T, Status> state_;
};

}  // namespace ndfold
