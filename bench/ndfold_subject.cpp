// ndfold as a contender: a plan and its workspace made once, or the free function that looks its plan up at each call.
#include <ndfold/ndfold.h>

#include "bench/request.h"
#include "bench/subject.h"

#include <cstddef>
#include <new>
#include <variant>

namespace ndfold::bench {
namespace {

constexpr std::align_val_t kWorkspaceAlignment{64};

struct FreeWorkspace {
  void operator()(void* data) const { ::operator delete(data, kWorkspaceAlignment); }
};

class Planned final : public Subject {
 public:
  Planned(ReducePlan plan, const Case& c)
      : plan_(std::move(plan)), in_(c.in), out_(c.out), stream_{.workers = &workers_for(c.threads)} {
    workspace_.bytes = plan_.workspace_bytes();
    if (workspace_.bytes > 0) {
      scratch_.reset(::operator new(workspace_.bytes, kWorkspaceAlignment));
      workspace_.data = scratch_.get();
    }
  }
  Status try_run() const { return plan_.run(in_, out_, workspace_, stream_); }
  void run() override { static_cast<void>(try_run()); }

 private:
  ReducePlan plan_;
  const void* in_;
  void* out_;
  Stream stream_;
  std::unique_ptr<void, FreeWorkspace> scratch_;
  Workspace workspace_;
};

class Called final : public Subject {
 public:
  Called(Request request, const Case& c)
      : spec_(std::move(request.spec)),
        in_(c.in, std::move(request.in)),
        out_{c.out, std::move(request.out)},
        stream_{.workers = &workers_for(c.threads)} {}
  Status try_run() const {
    if (const auto* reduction = std::get_if<ReduceSpec>(&spec_)) return reduce(in_, out_, *reduction, stream_);
    return softmax(in_, out_, std::get<SoftmaxSpec>(spec_), stream_);
  }
  void run() override { static_cast<void>(try_run()); }

 private:
  std::variant<ReduceSpec, SoftmaxSpec> spec_;
  ConstTensorView in_;
  TensorView out_;
  Stream stream_;
};

// One run that may fail: those that are timed no longer do.
template <class T>
std::unique_ptr<Subject> proven(std::unique_ptr<T> subject, std::string& why) {
  if (const Status status = subject->try_run(); !status) {
    why = status.message();
    return nullptr;
  }
  return subject;
}

}  // namespace

std::unique_ptr<Subject> make_ndfold(const Case& c, std::string& why) {
  const auto request = request_of(c, why);
  if (!request) return nullptr;
  auto plan = request->plan();
  if (!plan) {
    why = plan.error().message();
    return nullptr;
  }
  return proven(std::make_unique<Planned>(*std::move(plan), c), why);
}

std::unique_ptr<Subject> make_ndfold_function(const Case& c, std::string& why) {
  auto request = request_of(c, why);
  if (!request) return nullptr;
  return proven(std::make_unique<Called>(*std::move(request), c), why);
}

}  // namespace ndfold::bench
