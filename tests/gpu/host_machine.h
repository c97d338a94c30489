// The host in a GPU's place, and how it can be made to give back wrong bytes.
#pragma once
#include "tests/gpu/machine.h"

namespace ndfold::test {

/// Which byte of a download is changed.
struct Spoil {
  std::size_t at = 0;
  unsigned char mask = 0;  ///< bits; 0: none
  int which = 0;           ///< of the downloads from here on; 0: all
};

void spoil_downloads(const Spoil& how);

}  // namespace ndfold::test
