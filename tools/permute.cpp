// The verb permute.
#include "tools/compute.h"
#include "tools/verbs.h"

#include <memory>

namespace ndfold::cli {
namespace {

struct Request {
  Work work;
  Files files;
};

}  // namespace

Action add_permute(CLI::App& verb) {
  auto request = std::make_shared<Request>();
  request->work.kind = Kind::permute;
  add_files(verb, request->files, request->work);
  add_order(verb, request->work)->required();
  add_strategy(verb, request->work);
  verb.footer(
      "The same elements, written row-major in the new order; numpy.transpose() with a copy.\n"
      "Example: ndfold permute photo.npy -o channels_first.npy --order 2,0,1");
  return [request] { return compute("permute", request->work, request->files); };
}

}  // namespace ndfold::cli
