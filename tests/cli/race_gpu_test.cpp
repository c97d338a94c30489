// race_on_gpu with the host in a GPU's place: memory of the host, a plan for the CPU, and recordings that run again.
#include "tools/gpu.h"
#include "tools/race.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace ndfold::cli {
namespace {

// What the host was asked to do. Call number `failing` fails.
struct Asked {
  int calls = 0, failing = 0, alive = 0;
  Index allocated = 0, copies = 0;
} asked;

Status answer(const char* what) {
  return ++asked.calls == asked.failing ? Status(Code::internal, std::string(what) + " failed") : Status();
}

}  // namespace

void GpuBytes::Free::operator()(void* memory) const {
  --asked.alive;
  std::free(memory);
}

Result<GpuBytes> GpuBytes::allocate(Index bytes) {
  if (auto status = answer("allocate"); !status.ok()) return status;
  GpuBytes result;
  const auto padded = static_cast<std::size_t>((bytes / kAlignment + 1) * kAlignment);
  result.memory_.reset(std::aligned_alloc(kAlignment, padded));
  std::memset(result.memory_.get(), 0xFF, padded);
  result.size_ = bytes;
  asked.allocated += bytes;
  ++asked.alive;
  return result;
}

Status use_gpu(int) { return answer("use"); }

Status copy_to_gpu(std::byte* to, std::span<const std::byte> from) {
  std::memcpy(to, from.data(), from.size());
  return answer("copy_to");
}

Status copy_from_gpu(std::span<std::byte> to, const std::byte* from) {
  std::memcpy(to.data(), from, to.size());
  return answer("copy_from");
}

Status copy_on_gpu(std::byte* to, const std::byte* from, Index bytes, Stream) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
  ++asked.copies;
  return answer("copy_on");
}

struct Recording::Graph {
  std::function<Status(Stream)> queue;
};
void Recording::Destroy::operator()(Graph* graph) const { delete graph; }

Result<Recording> Recording::record(const std::function<Status(Stream)>& queue) {
  if (auto status = answer("record"); !status.ok()) return status;
  if (auto status = queue({}); !status.ok()) return status;
  Recording recording;
  recording.graph_.reset(new Graph);
  return recording;
}

Result<double> Recording::seconds() {
  const auto status = answer("replay");
  return status.ok() ? Result<double>(1e-3) : status;
}

namespace {

DeviceFacts gpu_of(Index cache_bytes) { return {.name = "a model", .ordinal = 1, .cache_bytes = cache_bytes}; }

Result<Race> race(const ViewDesc& in, const DeviceFacts& gpu, int failing = 0) {
  asked = {.failing = failing};
  Work work;
  work.reduce.op = ReduceOp::max;
  work.axes = AxisSet({1});
  const auto planned = make_plan(work, in);
  return planned ? race_on_gpu(*planned, in, gpu) : planned.error();
}

ViewDesc input(Index rows, Index columns) {
  auto in = dense(DType::f32, {rows, columns});
  in.alignment_bytes = 64;
  return in;
}

TEST(race_gpu, small_inputs_take_turns_until_three_caches_went_by) {
  const auto in = input(10, 100);  // 4040 bytes in and out
  const auto told = race(in, gpu_of(100'000));
  ASSERT_TRUE(told) << told.error().message();
  EXPECT_EQ(told->where, "a model");
  ASSERT_EQ(told->rows.size(), 2u);
  const Index turns = (300'000 + 4039) / 4040;
  EXPECT_EQ(told->rows[0].name, "plan");
  EXPECT_EQ(told->rows[0].bytes, 4040u);
  EXPECT_EQ(told->rows[1].name, "memcpy");
  EXPECT_EQ(told->rows[1].bytes, 8000u);
  EXPECT_EQ(told->rows[0].runs, turns);
  EXPECT_EQ(told->rows[1].runs, turns);
  EXPECT_EQ(asked.allocated, turns * (4096 + 256 + 4096));
  EXPECT_EQ(asked.copies, turns - 1 + turns);  // to fill, and to record
  EXPECT_EQ(told->rows[0].seconds().value(), 1e-3);
}

TEST(race_gpu, large_inputs_are_read_from_one_place_several_times) {
  const auto told = race(input(10, 100), gpu_of(1000));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->rows[0].runs, 20);
  EXPECT_EQ(asked.allocated, 4096 + 256 + 4096);
}

TEST(race_gpu, tiny_inputs_take_so_many_turns_and_no_more) {
  const auto told = race(input(1, 1), gpu_of(1 << 30));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->rows[0].runs, 1024);
}

TEST(race_gpu, what_no_memory_holds_is_refused) {
  const auto told = race(input(Index{1} << 50, 8), gpu_of(1000));
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code(), Code::out_of_memory);
  EXPECT_EQ(asked.calls, 0);
}

TEST(race_gpu, every_call_may_fail) {
  int failing = 1;
  for (;; ++failing) {
    const auto told = race(input(10, 100), gpu_of(3000), failing);
    if (told) break;
    EXPECT_NE(told.error().message().find(" failed"), std::string::npos) << told.error().message();
    EXPECT_EQ(asked.alive, 0) << failing;
  }
  EXPECT_GT(failing, 10);
  asked.failing = 0;
}

TEST(race_gpu, a_replay_that_fails_is_told) {
  const auto told = race(input(10, 100), gpu_of(3000));
  ASSERT_TRUE(told);
  asked.failing = asked.calls + 1;
  EXPECT_EQ(told->rows[0].seconds().error().message(), "replay failed");
}

}  // namespace
}  // namespace ndfold::cli
