// Eigen as contenders, at the machine's best SIMD level: rows written by hand, and Eigen::Tensor.
#include "bench/level.h"
#include "bench/subject.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace ndfold::bench {
namespace {

bool is_dense(const std::int64_t* sizes, const std::int64_t* strides, int rank) {
  std::int64_t next = 1;
  for (int i = rank; i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != next) return false;
    next *= sizes[i];
  }
  return true;
}

// Neighbouring axes of one kind are one axis; what is left alternates.
std::optional<DenseProblem> problem_of(const Case& c, std::string& why) {
  const auto* op = std::find(std::begin(kEigenOps), std::end(kEigenOps), std::string(c.op));
  if (op == std::end(kEigenOps) || std::string(c.dtype) != "f32") {
    why = "written here for f32 and a few operations";
    return std::nullopt;
  }
  if (!is_dense(c.sizes, c.strides, c.rank) || !is_dense(c.out_sizes, c.out_strides, c.out_rank)) {
    why = "written here for dense arrays";
    return std::nullopt;
  }
  std::vector<bool> reduced(static_cast<std::size_t>(c.rank), false);
  for (int i = 0; i < c.axis_count; ++i) reduced[static_cast<std::size_t>(c.axes[i])] = true;
  std::vector<std::int64_t> sizes;
  bool first = false, last = false;
  for (int i = 0; i < c.rank; ++i) {
    if (c.sizes[i] == 1) continue;
    const bool here = reduced[static_cast<std::size_t>(i)];
    if (sizes.empty()) first = here;
    if (!sizes.empty() && here == last)
      sizes.back() *= c.sizes[i];
    else
      sizes.push_back(c.sizes[i]);
    last = here;
  }
  if (sizes.empty() || sizes.size() > kMostAxes) {
    why = "too many axes in turn";
    return std::nullopt;
  }
  DenseProblem problem = {.op = static_cast<EigenOp>(op - std::begin(kEigenOps)),
                          .reduced_first = first,
                          .rank = static_cast<int>(sizes.size()),
                          .sizes = {},
                          .in = c.in,
                          .out = c.out};
  std::copy(sizes.begin(), sizes.end(), problem.sizes);
  return problem;
}

class EigenRows final : public Subject {
 public:
  EigenRows(const DenseProblem& problem, int threads)
      : problem_(problem), rows_(problem.rank == 1 ? 1 : problem.sizes[0]), workers_(workers_for(threads)) {}

  void run() override {
    workers_.run(
        workers_.threads(), [](void* self, Index part) { static_cast<EigenRows*>(self)->run(part); }, this);
  }

 private:
  void run(Index part) const {
    const Index parts = workers_.threads();
    level().eigen_rows(problem_, rows_ * part / parts, rows_ * (part + 1) / parts);
  }

  DenseProblem problem_;
  Index rows_;
  Workers& workers_;
};

class EigenTensor final : public Subject {
 public:
  explicit EigenTensor(void* expression) : expression_(expression) {}
  ~EigenTensor() override { level().free_eigen_tensor(expression_); }
  void run() override { level().run_eigen_tensor(expression_); }

 private:
  void* expression_;
};

}  // namespace

std::unique_ptr<Subject> make_eigen_rows(const Case& c, std::string& why) {
  const auto problem = problem_of(c, why);
  if (!problem) return nullptr;
  const bool rows = problem->rank == (problem->reduced_first ? 1 : 2);
  const bool written = problem->op == kLogsumexp || problem->op == kSoftmax || problem->op == kLogSoftmax;
  if (!rows || !written) {
    why = "written here for softmax and logsumexp of rows";
    return nullptr;
  }
  return std::make_unique<EigenRows>(*problem, c.threads);
}

std::unique_ptr<Subject> make_eigen_tensor(const Case& c, std::string& why) {
  const auto problem = problem_of(c, why);
  if (!problem) return nullptr;
  void* expression = level().make_eigen_tensor(*problem, c.threads);
  if (!expression) {
    why = "not written here for these axes";
    return nullptr;
  }
  return std::make_unique<EigenTensor>(expression);
}

}  // namespace ndfold::bench
