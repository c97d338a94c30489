// Included first into every source that may define public functions: what these headers declare is visible outside
// libndfold.so, all else follows -fvisibility=hidden.
#pragma GCC visibility push(default)
#include <ndfold/device.h>
#include <ndfold/plan.h>
#include <ndfold/plan_cache.h>
#include <ndfold/step.h>
#include <ndfold/workers.h>
#include <ndfold/workspace.h>
#pragma GCC visibility pop
