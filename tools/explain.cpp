// The verb explain.
#include "tools/device_table.h"
#include "tools/verbs.h"
#include "tools/work.h"

#include <iostream>
#include <memory>

namespace ndfold::cli {
namespace {

struct Request {
  Work work;
  ViewDesc in;
  bool json = false;
};

Status explain(const Request& request) {
  auto in = request.in;
  if (in.strides.empty()) in.strides = row_major_strides(in.sizes);
  const auto planned = make_plan(request.work, in);
  if (!planned) return planned.error();
  const auto text = request.json ? planned->plan.explain_json() : planned->plan.explain();
  std::cout << text << (text.empty() || text.back() != '\n' ? "\n" : "");
  return {};
}

}  // namespace

Action add_explain(CLI::App& verb) {
  auto request = std::make_shared<Request>();
  auto& [work, in, json] = *request;
  in.alignment_bytes = 64;
  add_op(verb, work, true)->required();
  add_list(verb, "--shape", in.sizes, "Sizes of the input's axes, outermost first")->required();
  add_work_axes(verb, work);
  add_order(verb, work);
  add_dtype(verb, "--dtype", in.dtype, "The type of the input; default f32");
  add_dtype(verb, "--out-dtype", work.output, "The type of the output; default: what the operation gives");
  add_list(verb, "--strides", in.strides, "Strides of the input in elements; default: dense and row-major");
  add_number(verb, "--align", in.alignment_bytes, "Bytes that the input's address is a multiple of; default 64");
  add_softmax_options(verb, work);
  add_reduce_options(verb, work);
  add_device(verb, work.options.device);
  add_strategy(verb, work);
  add_number(verb, "--block-limit", work.options.block_limit,
             "At most this many elements a block folds in a schedule of many steps");
  verb.add_flag("--json", json, "One JSON object instead of text");
  verb.footer("Example: ndfold explain --op softmax --shape 64,512,4096 --axes 1 --dtype f32 --device h200");
  return [request] { return explain(*request); };
}

}  // namespace ndfold::cli
