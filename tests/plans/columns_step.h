// A softmax down the columns of rows that follow one another, before a strategy shapes it.
#pragma once
#include "plans/schedule.h"

namespace ndfold {

inline Step columns_step(Index reduced, Index kept) {
  Step step;
  step.kernel.body = Body::columns;
  step.kernel.sink = SinkKind::softmax;
  step.kernel.tuning = {.threads = 256, .unroll = 4, .panel_bytes = 128};
  step.kept = {{.size = kept, .in = 1, .out = 1}};
  step.reduced = {{.size = reduced, .in = kept, .out = kept}};
  step.part = reduced;
  step.launch.block = 256;
  return step;
}

}  // namespace ndfold
