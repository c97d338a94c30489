#include <ndfold/workers.h>

#define EIGEN_USE_THREADS
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>
#include <unsupported/Eigen/CXX11/ThreadPool>
#include <vector>

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

// A worker that waited for workers could wait for ever: it does their work itself.
thread_local bool is_worker = false;

// A pool a thread: the constructor of an Eigen pool with several is not safe when memory runs out halfway.
class EigenWorkers final : public Workers {
 public:
  explicit EigenWorkers(int threads) {
    try {
      while (static_cast<int>(helpers_.size()) + 1 < threads)
        helpers_.push_back(std::make_unique<Eigen::ThreadPool>(1));
    } catch (const std::system_error&) {  // the system has no more threads: those there are will do
    }
  }

  int threads() const override { return static_cast<int>(helpers_.size()) + 1; }

  void run(Index tasks, Task task, void* context) override {
    const auto needed = static_cast<std::size_t>(std::clamp<Index>(tasks - 1, 0, static_cast<Index>(helpers_.size())));
    if (needed == 0 || is_worker) {
      for (Index i = 0; i < tasks; ++i) task(context, i);
      return;
    }
    Shift shift(tasks, task, context, static_cast<unsigned>(needed));
    for (std::size_t i = 0; i < needed; ++i)
      helpers_[i]->Schedule([&shift] {
        is_worker = true;
        shift.work();
        shift.leave.Notify();
      });
    shift.work();
    shift.leave.Wait();
  }

 private:
  std::vector<std::unique_ptr<Eigen::ThreadPool>> helpers_;
};

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
}

int wanted_threads() {
  constexpr int kMost = 1024;
  int threads = 0;
  if (const char* text = std::getenv("NDFOLD_NUM_THREADS")) std::from_chars(text, text + std::strlen(text), threads);
  return threads > 0 ? std::min(threads, kMost) : usable_cores();
}

}  // namespace

std::unique_ptr<Workers> make_workers(int threads) {
  try {
    return std::make_unique<EigenWorkers>(threads);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// Never destroyed: a plan may run while the process's static objects are going away.
Workers& default_workers() {
  static Workers* const workers = new EigenWorkers(wanted_threads());
  return *workers;
}

}  // namespace ndfold
