#include <ndfold/workers.h>

#define EIGEN_USE_THREADS
#include <unsupported/Eigen/CXX11/ThreadPool>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include <sched.h>

namespace ndfold {
namespace {

// Shared by the threads of one run, on the caller's stack: the caller leaves only when all have.
struct Shift {
  Index tasks;
  Workers::Task task;
  void* context;
  std::atomic<Index> next{0};
  Eigen::Barrier leave;

  Shift(Index count, Workers::Task what, void* with, unsigned helpers)
      : tasks(count), task(what), context(with), leave(helpers) {}

  void work() {
    for (Index i = next++; i < tasks; i = next++) task(context, i);
  }
};

class EigenWorkers final : public Workers {
 public:
  explicit EigenWorkers(int threads) : threads_(std::max(threads, 1)), pool_(std::max(threads_ - 1, 1)) {}

  int threads() const override { return threads_; }

  void run(Index tasks, Task task, void* context) override {
    const auto helpers = static_cast<unsigned>(std::min<Index>(threads_, tasks)) - (tasks > 0);
    // A worker that waited for workers could wait for ever.
    if (helpers == 0 || pool_.CurrentThreadId() >= 0) {
      for (Index i = 0; i < tasks; ++i) task(context, i);
      return;
    }
    Shift shift(tasks, task, context, helpers);
    for (unsigned i = 0; i < helpers; ++i) pool_.Schedule([&shift] { shift.work(), shift.leave.Notify(); });
    shift.work();
    shift.leave.Wait();
  }

 private:
  int threads_;
  Eigen::ThreadPool pool_;
};

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
}

int wanted_threads() {
  constexpr int kMost = 1024;
  int threads = 0;
  if (const char* text = std::getenv("NDFOLD_NUM_THREADS"))
    std::from_chars(text, text + std::strlen(text), threads);
  return threads > 0 ? std::min(threads, kMost) : usable_cores();
}

}  // namespace

std::unique_ptr<Workers> make_workers(int threads) { return std::make_unique<EigenWorkers>(threads); }

// Never destroyed: a plan may run while the process's static objects are going away.
Workers& default_workers() {
  static Workers* const workers = make_workers(wanted_threads()).release();
  return *workers;
}

}  // namespace ndfold
