// Progress: a line on a terminal that says what is being done and for how long, once it takes over a second.
#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace ndfold::cli {

/// Lives as long as the work. Silent when stderr is not a terminal; leaves no trace when it ends.
class Progress {
 public:
  explicit Progress(std::string work);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void tell();

  std::string work_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread teller_;
};

}  // namespace ndfold::cli
