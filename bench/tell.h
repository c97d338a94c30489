// A text for a caller who gave a buffer for it.
#pragma once
#include <algorithm>
#include <cstring>
#include <string>

namespace ndfold::bench {

/// As much of it as there is room for, ended by a zero.
inline void tell(const std::string& text, char* to, std::size_t room) {
  if (room == 0) return;
  const std::size_t length = std::min(text.size(), room - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

}  // namespace ndfold::bench
