// Progress: a line on a terminal that says what is being done and for how long, once it takes over a second.
#include "tools/progress.h"

#include <unistd.h>

#include <chrono>
#include <iostream>
#include <utility>

namespace ndfold::cli {

Progress::Progress(std::string work) : work_(std::move(work)) {
  if (isatty(STDERR_FILENO) != 0) teller_ = std::thread([this] { tell(); });
}

Progress::~Progress() {
  if (!teller_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_one();
  teller_.join();
}

void Progress::tell() {
  constexpr const char* kEraseLine = "\r\033[K";
  std::unique_lock lock(mutex_);
  for (int seconds = 1; !ended_.wait_for(lock, std::chrono::seconds(1), [this] { return end_; }); ++seconds)
    std::cerr << kEraseLine << work_ << " … " << seconds << " s" << std::flush;
  std::cerr << kEraseLine << std::flush;
}

}  // namespace ndfold::cli
