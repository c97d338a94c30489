// A plan in words: what will run, why, and why not the others.
#pragma once
#include "plans/choose.h"

#include <string>

namespace ndfold {

/// A few lines of text; `problem` is the request's, `choice` the problem's.
std::string explain(const Request& request, const Problem& problem, const Choice& choice);

/// The same as one JSON object, every number of every step included.
std::string explain_json(const Request& request, const Problem& problem, const Choice& choice);

/// "sum f16→f32 [64,1,512,1024] axes {1,3} → [64,512]"
std::string headline(const Request& request);

/// "softmax_columns", "permute", "divide_elementwise": the kernel of a step.
std::string kernel_name(const KernelKey& kernel);

/// Read and written by all steps.
double bytes_moved(const Schedule& schedule);

}  // namespace ndfold
