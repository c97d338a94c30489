#include "bench/instructions.h"

#if defined(__linux__)
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#endif

namespace ndfold::bench {

#if defined(__linux__)
namespace {

// Virtual machines often have no counter.
double count_by_counter(Subject& subject) {
  perf_event_attr what = {};
  what.type = PERF_TYPE_HARDWARE;
  what.size = sizeof what;
  what.config = PERF_COUNT_HW_INSTRUCTIONS;
  what.disabled = 1;
  what.exclude_kernel = 1;
  what.exclude_hv = 1;
  const int file = static_cast<int>(syscall(SYS_perf_event_open, &what, 0, -1, -1, 0));
  if (file < 0) return -1;
  ioctl(file, PERF_EVENT_IOC_ENABLE, 0);
  subject.run();
  ioctl(file, PERF_EVENT_IOC_DISABLE, 0);
  std::uint64_t count = 0;
  const bool good = read(file, &count, sizeof count) == sizeof count && count > 0;
  close(file);
  return good ? static_cast<double>(count) : -1;
}

// A step takes up to 20 µs: what needs more than these is said to take these. No other thread may be in use.
constexpr double kMostSteps = 4e5;

double steps_of(pid_t child) {
  double steps = 0;
  for (int state = 0; steps < kMostSteps; ++steps) {
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) return -1;
    if (waitpid(child, &state, 0) != child || !WIFSTOPPED(state)) return -1;
    if (WSTOPSIG(state) == SIGSTOP) return steps;
  }
  return kMostSteps;
}

double count_by_steps(Subject& subject) {
  const pid_t child = fork();
  if (child < 0) return -1;
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    kill(getpid(), SIGSTOP);
    subject.run();
    kill(getpid(), SIGSTOP);
    _exit(0);
  }
  int state = 0;
  double steps = -1;
  if (waitpid(child, &state, 0) == child && WIFSTOPPED(state)) {
    steps = steps_of(child);
    kill(child, SIGKILL);
    waitpid(child, &state, 0);
  }
  return steps;
}

}  // namespace

double count_instructions(Subject& subject) {
  const double counted = count_by_counter(subject);
  return counted > 0 ? counted : count_by_steps(subject);
}
#else
double count_instructions(Subject&) { return -1; }
#endif

}  // namespace ndfold::bench
