// The verbs softmax and log-softmax.
#include "tools/compute.h"
#include "tools/verbs.h"

#include <memory>

namespace ndfold::cli {
namespace {

struct Request {
  Work work;
  Files files;
};

Action add(CLI::App& verb, SoftmaxKind kind) {
  auto request = std::make_shared<Request>();
  request->work.kind = Kind::softmax;
  request->work.softmax.kind = kind;
  add_files(verb, request->files, request->work);
  add_work_axes(verb, request->work);
  add_softmax_options(verb, request->work);
  add_dtype(verb, "--dtype", request->work.output, "The type of the output; default: the input's");
  add_strategy(verb, request->work);
  return [request, name = verb.get_name()] { return compute(name, request->work, request->files); };
}

}  // namespace

Action add_softmax(CLI::App& verb) {
  verb.footer(
      "OUT = alpha · softmax(scale · IN), of the same shape: over the named axes together it adds up to alpha.\n"
      "Example: ndfold softmax scores.npy -o probabilities.npy --axes 1,3");
  return add(verb, SoftmaxKind::softmax);
}

Action add_log_softmax(CLI::App& verb) {
  verb.footer(
      "OUT = alpha · log softmax(scale · IN), of the same shape.\n"
      "Example: ndfold log-softmax scores.npy -o logs.npy --axes -1");
  return add(verb, SoftmaxKind::log_softmax);
}

}  // namespace ndfold::cli
