// The same bits in 100 runs of every strategy, alone and in two streams at once.
#include "tests/gpu/bench.h"
#include "tests/gpu/trial.h"
#include "tests/support/strategies.h"

#include <cstring>

namespace ndfold::test {
namespace {

struct Case {
  AnyRequest request;
  ViewDesc in, out;
};

// Most are large enough for blocks to share outputs; all have outputs that a host compares quickly.
std::vector<Case> all_cases() {
  const ViewDesc row = dense(DType::f32, {3, 50000}), column = dense(DType::f32, {5000, 40}),
                 middle = dense(DType::bf16, {4, 700, 33}), line = dense(DType::f32, {1 << 20});
  const ViewDesc rows = dense(DType::f32, {500, 300});
  return {{SoftmaxSpec{.axes = {1}}, row, row},
          {SoftmaxSpec{.axes = {0}}, column, column},
          {SoftmaxSpec{.axes = {1}}, middle, middle},
          {SoftmaxSpec{.axes = {1}}, rows, rows},
          {ReduceSpec{.op = ReduceOp::sum, .axes = {0}}, line, dense(DType::f32, {})},
          {ReduceSpec{.op = ReduceOp::var, .axes = {0}}, column, dense(DType::f32, {40})},
          {ReduceSpec{.op = ReduceOp::sum, .axes = {1}}, rows, dense(DType::f32, {500})},
          {ReduceSpec{.op = ReduceOp::prod, .axes = {0, 2}}, middle, dense(DType::bf16, {700})}};
}

class repeat : public OnDevice {
 protected:
  const int repeats_ = is_gpu() ? 100 : 4;
};

struct Subject {
  std::string name;
  ReducePlan plan;
  Array in, out;
};

std::vector<Subject> all_subjects() {
  std::vector<Subject> subjects;
  for (const Case& item : all_cases())
    for (const std::string strategy : kFoldingStrategies) {
      const auto plan = plan_for(item.request, item.in, item.out, {.device = facts(), .strategy = strategy});
      if (!plan) continue;
      subjects.push_back(
          {strategy + ' ' + ::testing::PrintToString(item.in.sizes), *plan, Array(item.in), Array(item.out)});
      fill(subjects.back().in, Values::mixed);
    }
  return subjects;
}

/// One subject in one stream, with a workspace of its own.
class Runner {
 public:
  explicit Runner(Subject& subject) : subject_(subject), got_(subject.out) {
    bench_.lay_out(subject.in, &subject.out, subject.plan.workspace_bytes());
  }
  void start(int garbage) {
    bench_.put(subject_.in, garbage);
    const Status status = subject_.plan.run(bench_.in(), bench_.out(), bench_.workspace(), bench_.queue().get());
    ASSERT_TRUE(status.ok()) << status.message();
  }
  const Array& finish() {
    EXPECT_EQ(bench_.take(got_), "");
    return got_;
  }

 private:
  Subject& subject_;
  Array got_;
  Bench bench_;
};

TEST_F(repeat, a_hundred_runs_give_the_same_bits) {
  auto subjects = all_subjects();
  ASSERT_FALSE(subjects.empty());
  for (Subject& subject : subjects) {
    SCOPED_TRACE(subject.name);
    Runner runner(subject);
    runner.start(0xff);
    const Array first = runner.finish();
    for (int i = 1; i < repeats_; ++i) {
      runner.start(i);
      ASSERT_TRUE(runner.finish() == first) << "run " << i;
    }
  }
  RecordProperty("subjects", static_cast<int>(subjects.size()));
}

// Each beside another one, so that blocks of both share multiprocessors, and beside itself.
TEST_F(repeat, two_streams_at_once) {
  auto subjects = all_subjects();
  for (std::size_t i = 0; i < subjects.size(); ++i)
    for (Subject* other : {&subjects[i], &subjects[(i + 1) % subjects.size()]}) {
      Subject& subject = subjects[i];
      SCOPED_TRACE(subject.name + " beside " + other->name);
      Runner one(subject), two(*other);
      one.start(0);
      const Array first = one.finish();
      two.start(0);
      const Array second = two.finish();
      for (int run = 0; run < repeats_ / 4; ++run) {
        one.start(run);
        two.start(run + 1);
        ASSERT_TRUE(two.finish() == second) << "run " << run;
        ASSERT_TRUE(one.finish() == first) << "run " << run;
      }
    }
}

// Many runs in flight: nothing waits between them, and the last one's bits are the first one's.
TEST_F(repeat, runs_in_a_row_without_waiting) {
  for (Subject& subject : all_subjects()) {
    SCOPED_TRACE(subject.name);
    Bench one, two;
    for (Bench* bench : {&one, &two}) {
      bench->lay_out(subject.in, &subject.out, subject.plan.workspace_bytes());
      bench->put(subject.in, 0xff);
    }
    Array first = subject.out, second = subject.out;
    for (int i = 0; i < repeats_; ++i)
      for (Bench* bench : {&one, &two})
        ASSERT_TRUE(subject.plan.run(bench->in(), bench->out(), bench->workspace(), bench->queue().get()).ok());
    EXPECT_EQ(one.take(first), "");
    EXPECT_EQ(two.take(second), "");
    EXPECT_TRUE(first == second);
    Runner alone(subject);
    alone.start(0);
    EXPECT_TRUE(alone.finish() == first);
  }
}

}  // namespace
}  // namespace ndfold::test
