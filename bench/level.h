// What is compiled once for each SIMD level: ceilings and Eigen. Only raw pointers cross; the objects of one level
// share no template with another's.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ndfold::bench {

/// A stream over memory: reads `bytes` bytes of `in`, or copies them to `out`. Both are multiples of kStreamBlock.
using StreamKernel = void (*)(const void* in, void* out, std::size_t bytes);
/// out[i] = exp(in[i]), all of them in the range of normal numbers; `count` is a multiple of kStreamBlock / 4.
using ExponentialKernel = void (*)(const float* in, float* out, std::size_t count);

inline constexpr std::size_t kStreamBlock = 1024;

struct NamedStream {
  const char* name;
  StreamKernel run;
};
struct NamedExponential {
  const char* name;
  ExponentialKernel run;
};

/// What Eigen is asked for, of f32.
enum EigenOp : int { kSum, kMax, kArgmax, kLogsumexp, kSoftmax, kLogSoftmax };
inline constexpr const char* kEigenOps[] = {"sum", "max", "argmax", "logsumexp", "softmax", "log_softmax"};
inline constexpr int kMostAxes = 4;

/// A problem that Eigen is given: axes that alternate between kept and reduced, and are dense in memory.
struct DenseProblem {
  EigenOp op;
  bool reduced_first;  ///< whether axis 0 is reduced
  int rank;            ///< 1 to kMostAxes
  std::int64_t sizes[kMostAxes];
  const void* in;
  void* out;
};

/// What one level offers.
struct Level {
  const NamedStream* reads;  ///< ended by a null name, as the others
  const NamedStream* copies;
  const NamedExponential* exponentials;
  /// User-written Eigen over rows [first, last): kLogsumexp, kSoftmax, kLogSoftmax.
  void (*eigen_rows)(const DenseProblem&, std::int64_t first, std::int64_t last);
  /// Eigen::Tensor expressions with axes fixed at compile time, on `threads` threads; null when it does not do it.
  void* (*make_eigen_tensor)(const DenseProblem&, int threads);
  void (*run_eigen_tensor)(void*);
  void (*free_eigen_tensor)(void*);
};

const Level& level();

}  // namespace ndfold::bench
