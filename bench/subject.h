// What the benchmark compares: contenders, each prepared once for a case and then run many times on the same buffers.
#pragma once
#include <ndfold/workers.h>

#include <cstdint>
#include <memory>
#include <string>

extern "C" {
/// One problem, as bench/cpu_library.py hands it over through ctypes. Strides are in elements; `in` and `out` are the
/// addresses of element (0, …, 0). `op` is a reduction's name, "softmax" or "log_softmax".
struct NdfoldBenchCase {
  const char* op;
  const char* dtype;
  const char* out_dtype;
  std::int32_t rank;
  std::int32_t out_rank;
  std::int32_t axis_count;
  std::int32_t threads;
  const std::int64_t* sizes;
  const std::int64_t* strides;
  const std::int64_t* out_sizes;
  const std::int64_t* out_strides;
  const std::int32_t* axes;
  const void* in;
  void* out;
};
}

namespace ndfold::bench {

using Case = NdfoldBenchCase;

/// One contender on one case.
class Subject {
 public:
  virtual ~Subject() = default;
  /// The whole operation, once. Allocates nothing that a careful caller could have kept.
  virtual void run() = 0;
};

/// Null when the contender does not do this case; `why` then says so.
using Maker = std::unique_ptr<Subject> (*)(const Case&, std::string& why);

std::unique_ptr<Subject> make_ndfold(const Case&, std::string& why);
std::unique_ptr<Subject> make_ndfold_function(const Case&, std::string& why);  ///< through the process's plan cache
std::unique_ptr<Subject> make_onednn(const Case&, std::string& why);
std::unique_ptr<Subject> make_eigen_rows(const Case&, std::string& why);
std::unique_ptr<Subject> make_eigen_tensor(const Case&, std::string& why);

/// The process's workers for this many threads, made at first use. Every contender that takes threads from its caller
/// shares them.
Workers& workers_for(int threads);

}  // namespace ndfold::bench
