// The CUDA half of libndfold_bench_gpu.so on a machine that has no GPU: a model of an H200 takes what is launched.
#include "bench/gpu_streams.h"
#include "bench/tell.h"
#include "tests/fake_gpu/fake_gpu.h"

namespace {

ndfold::test::FakeMachine machine({ndfold::test::fake_h200()});

}  // namespace

int ndfold_bench_read(const void*, long long, void*, void*) { return 0; }

double ndfold_bench_launch_ns(int with_arguments, void*, int) { return with_arguments != 0 ? 2000 : 1500; }

/// What was wrong with launches so far.
extern "C" [[gnu::visibility("default")]] void ndfold_test_complaints(char* to, std::size_t room) {
  ndfold::bench::tell(machine.complaints(), to, room);
}
