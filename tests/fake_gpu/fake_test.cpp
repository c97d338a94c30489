// The model complains of what a GPU would not bear.
#include "tests/fake_gpu/requests.h"

namespace ndfold::test {
namespace {

using namespace cuda;

constexpr KernelKey kKey = {.fold = FoldKind::sum, .source = SourceKind::dense};

struct Bad {
  const char* complaint;
  void (*spoil)(LaunchShape& shape, Arguments& arguments);
};

const Bad kBad[] = {
    {"x is not in", [](LaunchShape& s, Arguments&) { s.grid_x = Index{1} << 31; }},
    {"x is not in", [](LaunchShape& s, Arguments&) { s.grid_x = 0; }},
    {"y is not in", [](LaunchShape& s, Arguments&) { s.grid_y = 65536; }},
    {"threads are not in", [](LaunchShape& s, Arguments&) { s.threads = 1056; }},
    {"a warp is not whole", [](LaunchShape& s, Arguments&) { s.threads = 100; }},
    {"clusters do not divide x", [](LaunchShape& s, Arguments&) { s.cluster = 3; }},
    {"not prepared for so wide a cluster", [](LaunchShape& s, Arguments&) { s.grid_x = s.cluster = 16; }},
    {"more than a block may have", [](LaunchShape& s, Arguments&) { s.shared_bytes = 228 * 1024; }},
    {"more than the kernel was prepared for", [](LaunchShape& s, Arguments&) { s.shared_bytes = 100 * 1024; }},
    {"this would hang", [](LaunchShape& s, Arguments&) { s.cooperative = true, s.grid_y = 133 * 4; }},
    {"`in` is misaligned", [](LaunchShape&, Arguments& a) { a.in += 2; }},
    {"`out` is misaligned", [](LaunchShape&, Arguments& a) { a.out += 1; }},
    {"a buffer is null", [](LaunchShape&, Arguments& a) { a.out = nullptr; }},
    {"`exchange` is misaligned", [](LaunchShape&, Arguments& a) { a.exchange = a.out + 4; }},
};

struct Prepared {
  Kernel kernel;
  LaunchShape shape = {.grid_x = 4, .grid_y = 4, .threads = 256, .cluster = 1, .shared_bytes = 4096};
  Arguments arguments;
};

Prepared prepare_one() {
  Prepared one{.kernel = backend().find_kernel(kKey, {}).kernel, .arguments = {}};
  EXPECT_EQ(backend().api->prepare(one.kernel, 64 * 1024, false, &one.shape.begins_early), 0);
  one.shape.threads = 512;
  one.arguments.in = static_cast<std::byte*>(fake_address(1));
  one.arguments.out = static_cast<std::byte*>(fake_address(2));
  return one;
}

TEST(fake_gpu, complains_of_bad_launches) {
  FakeMachine machine({fake_h200()});
  for (const Bad& bad : kBad) {
    Prepared one = prepare_one();
    EXPECT_EQ(backend().api->launch(one.kernel, one.arguments, one.shape, nullptr), 0);
    EXPECT_EQ(machine.complaints(), "") << bad.complaint;
    bad.spoil(one.shape, one.arguments);
    backend().api->launch(one.kernel, one.arguments, one.shape, nullptr);
    EXPECT_NE(machine.complaints().find(bad.complaint), std::string::npos) << bad.complaint;
  }
}

TEST(fake_gpu, complains_of_a_launch_that_begins_early_and_does_not_wait) {
  FakeMachine machine({fake_sm80()});
  Prepared one = prepare_one();
  EXPECT_FALSE(one.shape.begins_early);
  one.shape.begins_early = true;
  EXPECT_NE(backend().api->launch(one.kernel, one.arguments, one.shape, nullptr), 0);
  EXPECT_NE(machine.complaints().find("does not wait"), std::string::npos);
}

TEST(fake_gpu, complains_of_kernels_that_nobody_prepared_there) {
  FakeMachine machine({fake_h200(), fake_h200()});
  const Prepared one = prepare_one();
  make_fake_current(1);
  EXPECT_NE(backend().api->launch(one.kernel, one.arguments, one.shape, nullptr), 0);
  EXPECT_NE(machine.complaints().find("not prepared on this device"), std::string::npos);
  EXPECT_NE(backend().api->launch(reinterpret_cast<Kernel>(16), one.arguments, one.shape, nullptr), 0);
  EXPECT_NE(machine.complaints().find("not in the catalog"), std::string::npos);
}

TEST(fake_gpu, complains_of_a_run_that_does_more_than_launch) {
  FakeMachine machine({fake_h200()});
  const Prepared one = prepare_one();
  const Running scope;
  int number = 0;
  EXPECT_EQ(backend().api->current_device(&number), 0);
  EXPECT_EQ(backend().api->launch(one.kernel, one.arguments, one.shape, nullptr), 0);
  EXPECT_EQ(machine.complaints(), "");
  EXPECT_EQ(backend().api->device_count(&number), 0);
  EXPECT_NE(machine.complaints(), "");
}

TEST(fake_gpu, preparing_for_less_takes_what_was_given) {
  FakeMachine machine({fake_h200()});
  Prepared one = prepare_one();
  one.shape.shared_bytes = 60 * 1024;
  EXPECT_EQ(backend().api->prepare(one.kernel, 50 * 1024, false, &one.shape.begins_early), 0);
  EXPECT_NE(backend().api->launch(one.kernel, one.arguments, one.shape, nullptr), 0);
  EXPECT_NE(machine.complaints(), "");
}

TEST(fake_gpu, names_each_kernel_by_itself) {
  FakeMachine machine({fake_h200()});
  KernelKey other = kKey;
  other.tuning.unroll = 3;
  const Kernel first = backend().find_kernel(kKey, {}).kernel;
  EXPECT_EQ(backend().find_kernel(kKey, {}).kernel, first);
  EXPECT_NE(backend().find_kernel(other, {}).kernel, first);
  EXPECT_NE(backend().find_kernel(kKey, {.dense = true}).kernel, first);
  machine.lacks = [](const KernelKey& key) { return key.tuning.unroll == 3; };
  EXPECT_EQ(backend().find_kernel(other, {}).kernel, nullptr);
}

TEST(fake_gpu, fails_the_call_that_it_is_told_to) {
  FakeMachine machine({fake_h200()});
  int number = 0;
  machine.fail(2);
  EXPECT_EQ(backend().api->device_count(&number), 0);
  EXPECT_EQ(backend().api->device_count(&number), kAsked);
  EXPECT_EQ(backend().api->device_count(&number), 0);
  EXPECT_EQ(machine.failures(), 1);
  EXPECT_EQ(machine.failed(), Function::device_count);
  machine.fail(1, true, kNoMemory);
  EXPECT_EQ(backend().api->current_device(&number), kNoMemory);
  EXPECT_EQ(backend().api->device_count(&number), kNoMemory);
  EXPECT_STREQ(backend().api->words(kNoMemory), "out of memory");
}

}  // namespace
}  // namespace ndfold::test
