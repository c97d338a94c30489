// Exceptions do not cross the API: memory that is not there is a Status.
#pragma once
#include <ndfold/status.h>

#include <new>
#include <utility>

namespace ndfold {

/// The sentence is short enough for std::string to hold it without memory of its own.
inline Status out_of_memory() { return Status(Code::out_of_memory, "out of memory"); }

/// work(), or out_of_memory().
template <class Work>
auto or_out_of_memory(Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

/// work(), or something empty.
template <class Work>
auto or_empty(Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::bad_alloc&) {
    return {};
  }
}

}  // namespace ndfold
