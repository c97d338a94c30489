// Launches of a stream overlap: each must still find what the ones before it wrote, and write nothing that they still
// read. Every strategy's result goes into the next one's input, and another launch follows that spoils that input.
#include "tests/gpu/bench.h"
#include "tests/gpu/trial.h"
#include "tests/support/strategies.h"

#include <algorithm>

namespace ndfold::test {
namespace {

constexpr int kUnwritten = 0x3f;  // a byte of numbers that are finite, and of none that a link makes

class in_turn : public OnDevice {
 protected:
  const int repeats_ = is_gpu() ? 20 : 1;
};

/// Plans that read a place of so many elements each, and write the next one; and one that spoils what was read.
class Chain {
 public:
  Chain(DType type, const Sizes& sizes) : view_(dense(type, sizes)) {
    constexpr std::size_t kApart = 256;
    bytes_ = (static_cast<std::size_t>(sizes[0] * sizes[1]) * size_bytes(type) + kApart - 1) / kApart * kApart;
    const Sizes results[] = {{sizes[1]}, {sizes[0]}};
    for (const std::string strategy : kReadingStrategies)
      for (const int axis : {0, 1}) {
        add(SoftmaxSpec{.axes = {axis}, .scale = 3}, view_, strategy);
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::var})
          add(ReduceSpec{.op = op, .axes = {axis}}, dense(type, results[axis]), strategy);
      }
    spoiler_ = plan_for(SoftmaxSpec{.axes = {1}}, view_, view_, {.device = facts(), .strategy = {}});
    memory_ = std::make_unique<Memory>((links_.size() + 2) * bytes_ + workspace_bytes_);
  }

  std::size_t links() const { return links_.size(); }

  /// The first place gets numbers, the others none of a result.
  void begin(Queue& queue) {
    Array in(view_);
    fill(in, Values::mixed);
    queue.fill(place(0), kUnwritten, (links_.size() + 2) * bytes_ + workspace_bytes_);
    queue.upload(place(0), in.data(),
                 static_cast<std::size_t>(view_.sizes[0] * view_.sizes[1]) * size_bytes(view_.dtype));
    queue.wait();
  }

  Status run(Queue& queue, bool waits) {
    const Workspace workspace{place(links_.size() + 2), workspace_bytes_};
    for (std::size_t i = 0; i < links_.size(); ++i) {
      if (const Status status = links_[i].run(place(i), place(i + 1), workspace, queue.get()); !status.ok())
        return status;
      if (waits) queue.wait();
      if (const Status status = spoiler_->run(place(links_.size() + 1), place(i), workspace, queue.get()); !status.ok())
        return status;
      if (waits) queue.wait();
    }
    return {};
  }

  /// All places.
  std::vector<std::byte> take(Queue& queue) {
    std::vector<std::byte> all((links_.size() + 1) * bytes_);
    queue.download(all.data(), place(0), all.size());
    return all;
  }
  /// Empty, or which link made something else than in `right`.
  std::string difference(const std::vector<std::byte>& right, const std::vector<std::byte>& got) const {
    const auto at = std::mismatch(right.begin(), right.end(), got.begin()).first - right.begin();
    if (at == static_cast<std::ptrdiff_t>(right.size())) return {};
    const std::size_t number = static_cast<std::size_t>(at) / bytes_;
    return "byte " + std::to_string(static_cast<std::size_t>(at) % bytes_) + " of place " + std::to_string(number) +
           (number > 0 ? ", written by " + names_[number - 1] : "");
  }

 private:
  void add(const AnyRequest& request, const ViewDesc& out, const std::string& strategy) {
    const auto plan = plan_for(request, view_, out, {.device = facts(), .strategy = strategy});
    if (!plan) return;
    links_.push_back(*plan);
    names_.push_back(strategy + " to " + ::testing::PrintToString(out.sizes));
    workspace_bytes_ = std::max(workspace_bytes_, plan->workspace_bytes());
  }
  std::byte* place(std::size_t i) const { return memory_->data() + i * bytes_; }

  ViewDesc view_;
  std::size_t bytes_ = 0, workspace_bytes_ = 0;
  std::vector<ReducePlan> links_;
  std::vector<std::string> names_;
  Result<ReducePlan> spoiler_ = Status(Code::internal, "no plan yet");
  std::unique_ptr<Memory> memory_;
};

const std::pair<DType, Sizes> kShapes[] = {{DType::f32, {256, 256}},  {DType::f32, {37, 1001}},
                                           {DType::bf16, {1024, 96}}, {DType::f32, {3000, 40}},
                                           {DType::bf16, {5, 30000}}, {DType::f32, {8, 16}}};

TEST_F(in_turn, each_launch_finds_what_the_one_before_wrote) {
  for (const auto& [type, sizes] : kShapes) {
    SCOPED_TRACE(std::string(name(type)) + ' ' + ::testing::PrintToString(sizes));
    Chain chain(type, sizes);
    ASSERT_GE(chain.links(), 16u) << "one strategy has eight";
    Queue queue;
    chain.begin(queue);
    ASSERT_TRUE(chain.run(queue, true).ok());
    const auto right = chain.take(queue);
    for (int repeat = 0; repeat < repeats_; ++repeat) {
      chain.begin(queue);
      ASSERT_TRUE(chain.run(queue, false).ok());
      ASSERT_EQ(chain.difference(right, chain.take(queue)), "") << "repeat " << repeat;
    }
    Graph graph(queue, [&] { return chain.run(queue, false); });
    ASSERT_TRUE(graph.status().ok()) << graph.status().message();
    for (int repeat = 0; repeat < repeats_; ++repeat) {
      chain.begin(queue);
      graph.launch();
      ASSERT_EQ(chain.difference(right, chain.take(queue)), "") << "replay " << repeat;
    }
  }
}

}  // namespace
}  // namespace ndfold::test
