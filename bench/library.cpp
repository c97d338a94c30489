// The C functions that bench/cpu_library.py calls through ctypes: make a subject, time it, free it.
#include <ndfold/device.h>

#include "bench/instructions.h"
#include "bench/level.h"
#include "bench/subject.h"
#include "bench/tell.h"

#include <chrono>
#include <map>
#include <vector>

namespace ndfold::bench {

Workers& workers_for(int threads) {
  static std::map<int, std::unique_ptr<Workers>> made;
  auto& workers = made[threads];
  if (!workers) workers = make_workers(threads);
  return *workers;
}

namespace {

struct Contender {
  const char* name;
  Maker make;
};

constexpr Contender kContenders[] = {
    {"ndfold", make_ndfold},         {"ndfold, cached call", make_ndfold_function},
#if defined(NDFOLD_BENCH_ONEDNN)
    {"oneDNN", make_onednn},
#endif
    {"Eigen rows", make_eigen_rows}, {"Eigen Tensor", make_eigen_tensor},
};

// A stream over one buffer, in as many parts as there are threads.
class Streamed final : public Subject {
 public:
  Streamed(StreamKernel kernel, const void* in, void* out, std::size_t bytes, int threads)
      : kernel_(kernel),
        in_(static_cast<const char*>(in)),
        out_(static_cast<char*>(out)),
        blocks_(static_cast<Index>(bytes / kStreamBlock)),
        workers_(workers_for(threads)) {}

  void run() override {
    workers_.run(
        workers_.threads(), [](void* self, Index part) { static_cast<Streamed*>(self)->run(part); }, this);
  }

 private:
  void run(Index part) const {
    const Index parts = workers_.threads();
    const Index first = blocks_ * part / parts;
    const auto offset = static_cast<std::size_t>(first) * kStreamBlock;
    const auto bytes = static_cast<std::size_t>(blocks_ * (part + 1) / parts - first) * kStreamBlock;
    kernel_(in_ + offset, out_ + offset, bytes);
  }

  StreamKernel kernel_;
  const char* in_;
  char* out_;
  Index blocks_;
  Workers& workers_;
};

// The exponentials of kCount numbers that stay in L1.
class Exponential final : public Subject {
 public:
  static constexpr std::size_t kCount = 2048;

  explicit Exponential(ExponentialKernel kernel) : kernel_(kernel) {
    for (std::size_t i = 0; i < kCount; ++i) in_[i] = -static_cast<float>(i * 37 % 1000) / 100.f;
  }
  void run() override { kernel_(in_, out_, kCount); }

 private:
  ExponentialKernel kernel_;
  alignas(64) float in_[kCount];
  alignas(64) float out_[kCount];
};

}  // namespace
}  // namespace ndfold::bench

using namespace ndfold::bench;

extern "C" {

/// Names: of contenders, of the exponentials, of the streams that read (0) or copy (1); null after the last.
[[gnu::visibility("default")]] const char* ndfold_bench_contender(int i) {
  return i < static_cast<int>(std::size(kContenders)) ? kContenders[i].name : nullptr;
}
[[gnu::visibility("default")]] const char* ndfold_bench_stream(int copies, int i) {
  return (copies ? level().copies : level().reads)[i].name;
}
[[gnu::visibility("default")]] const char* ndfold_bench_exponential(int i) { return level().exponentials[i].name; }

/// How ndfold names this machine.
[[gnu::visibility("default")]] const char* ndfold_bench_host() {
  static const std::string name = ndfold::DeviceFacts::host().name;
  return name.c_str();
}
/// The instruction set that it runs with here.
[[gnu::visibility("default")]] const char* ndfold_bench_level() {
  static const std::string name(ndfold::cpu_level());
  return name.c_str();
}

/// A subject, or null and a sentence in `why`.
[[gnu::visibility("default")]] void* ndfold_bench_make(int contender, const NdfoldBenchCase* c, char* why,
                                                       std::size_t room) {
  std::string reason;
  Subject* made = kContenders[contender].make(*c, reason).release();
  tell(reason, why, room);
  return made;
}
[[gnu::visibility("default")]] void* ndfold_bench_make_stream(int copies, int i, const void* in, void* out,
                                                              std::size_t bytes, int threads) {
  return static_cast<Subject*>(new Streamed((copies ? level().copies : level().reads)[i].run, in, out, bytes, threads));
}
[[gnu::visibility("default")]] void* ndfold_bench_make_exponential(int i) {
  return static_cast<Subject*>(new Exponential(level().exponentials[i].run));
}
[[gnu::visibility("default")]] std::size_t ndfold_bench_exponential_count() { return Exponential::kCount; }
[[gnu::visibility("default")]] void ndfold_bench_free(void* subject) { delete static_cast<Subject*>(subject); }

/// Nanoseconds a call, over `calls` calls.
[[gnu::visibility("default")]] double ndfold_bench_time(void* subject, std::int64_t calls) {
  using Clock = std::chrono::steady_clock;
  auto* one = static_cast<Subject*>(subject);
  const auto start = Clock::now();
  for (std::int64_t i = 0; i < calls; ++i) one->run();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / static_cast<double>(calls);
}

/// User-space instructions of one call on this thread; negative where they cannot be counted.
[[gnu::visibility("default")]] double ndfold_bench_instructions(void* subject) {
  return count_instructions(*static_cast<Subject*>(subject));
}

}  // extern "C"
