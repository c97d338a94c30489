// The verb reduce.
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

Action add_reduce(CLI::App& verb) {
  auto request = std::make_shared<Request>();
  add_files(verb, request->files, request->work);
  add_op(verb, request->work, false)->required();
  add_work_axes(verb, request->work);
  add_dtype(verb, "--dtype", request->work.output,
            "The type of the output; default: floats keep theirs, sums of integers are 64 bits wide");
  add_reduce_options(verb, request->work);
  add_strategy(verb, request->work);
  verb.footer(
      "Every output is folded from all elements along the named axes.\n"
      "Examples: ndfold reduce photo.npy -o brightness.npy --op mean --axes 0,1 --dtype f32\n"
      "          ndfold reduce scores.npy -o best.npy --op argmax --axes -1");
  return [request] { return compute("reduce", request->work, request->files); };
}

}  // namespace ndfold::cli
