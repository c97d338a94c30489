// What a map reads: which elements are a tile, and which of them a lane's.
#pragma once
#include "kernels/cuda/bind.h"

namespace ndfold::cuda {

void bind_elementwise(const Step& step, Bound& bound);

/// What depends on where the input begins: `phase` elements behind a whole pack.
void cover_elements(const Bound& bound, int phase, Arguments& to);

}  // namespace ndfold::cuda
