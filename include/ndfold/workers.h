// Who runs the blocks of a CPU plan: ndfold's own threads, or the caller's.
#pragma once
#include <ndfold/dtype.h>

#include <memory>
#include <string_view>

namespace ndfold {

/// Runs independent tasks. Results never depend on how many threads there are or which of them runs what.
class Workers {
 public:
  using Task = void (*)(void* context, Index task);

  virtual ~Workers() = default;
  virtual int threads() const = 0;
  /// Calls task(context, i) once for each i in [0, tasks), in any order, and returns when all are done.
  /// The calling thread may run some of them. Tasks do not throw. May be called from several threads at once.
  virtual void run(Index tasks, Task task, void* context) = 0;
};

/// Threads of ndfold's own (Eigen's pools); `threads` counts the calling one, at least 1. Fewer when the system has no
/// more; null when there is no memory for them.
std::unique_ptr<Workers> make_workers(int threads);

/// The process's workers: NDFOLD_NUM_THREADS, else one a core that this process may use. Started at first use; throws
/// std::bad_alloc when there is no memory for that.
Workers& default_workers();

/// The instruction set that CPU plans run with: "baseline", "avx2" or "avx512", the widest that this machine has.
/// NDFOLD_CPU forces one by name; empty when it names none of those that are here, and then every run is refused.
std::string_view cpu_level();

}  // namespace ndfold
