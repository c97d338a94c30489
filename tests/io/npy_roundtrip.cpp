// npy_roundtrip IN OUT: reads one .npy file and writes it again; 2 and one line on stderr when that is refused.
#include "lib/io/npy.h"

#include <cstdio>

int main(int count, char** arguments) {
  if (count != 3) return std::fputs("usage: npy_roundtrip IN.npy OUT.npy\n", stderr), 2;
  const auto array = ndfold::io::read_npy(arguments[1]);
  const ndfold::Status status = array ? ndfold::io::write_npy(arguments[2], array->view()) : array.error();
  if (!status) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status ? 0 : 2;
}
