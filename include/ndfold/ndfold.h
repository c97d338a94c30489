// Everything a C++ program needs. The C interface will be <ndfold/ndfold_c.h>.
#pragma once
#include <ndfold/adapt.h>
#include <ndfold/device.h>
#include <ndfold/dtype.h>
#include <ndfold/op.h>
#include <ndfold/plan.h>
#include <ndfold/plan_cache.h>
#include <ndfold/spec.h>
#include <ndfold/status.h>
#include <ndfold/step.h>
#include <ndfold/version.h>
#include <ndfold/view.h>
#include <ndfold/workers.h>
#include <ndfold/workspace.h>
