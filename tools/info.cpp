// The verb info.
#include "lib/io/npy.h"
#include "tools/verbs.h"

#include <iostream>
#include <memory>
#include <string>

namespace ndfold::cli {
namespace {

Status info(const std::string& path) {
  const auto header = io::read_npy_header(path);
  if (!header) return header.error();
  std::cout << "shape   " << io::shape_text(header->shape) << '\n'
            << "type    " << name(header->dtype) << (header->big_endian ? ", big-endian" : "") << '\n'
            << "order   " << (header->fortran_order ? "Fortran (first axis fastest)" : "C (last axis fastest)") << '\n'
            << "bytes   " << header->data_bytes << " of data from byte " << header->data_offset << '\n'
            << "format  .npy version " << header->major << '\n';
  return {};
}

}  // namespace

Action add_info(CLI::App& verb) {
  auto path = std::make_shared<std::string>();
  verb.add_option("IN.npy", *path, "The file to look at; only its header is read")->required()->type_name("");
  return [path] { return info(*path); };
}

}  // namespace ndfold::cli
