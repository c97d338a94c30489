// The version of these headers; CMake reads it from here.
#pragma once

#define NDFOLD_VERSION "0.1.0"

// -inf, NaN and signed zeros are part of the answers, in the caller's inline code too.
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "ndfold needs IEEE arithmetic: compile without -ffast-math and -ffinite-math-only"
#endif
