// Eigen::Tensor as a contender: expressions as TensorFlow wrote them, with the reduced axes fixed at compile time
// (given at run time they cost ten times as much).
#define EIGEN_USE_THREADS
#include "bench/level_parts.h"

#include <unsupported/Eigen/CXX11/Tensor>
#include <utility>

namespace ndfold::bench::NDFOLD_BENCH_LEVEL {
namespace {

using Eigen::RowMajor;

class Expression {
 public:
  virtual ~Expression() = default;
  virtual void run() = 0;
};

// Reduced axes kAxes of a tensor of rank kRank.
template <int kRank, int... kAxes>
struct Pattern {
  static constexpr int kAll = kRank;
  static constexpr int kKept = kRank - static_cast<int>(sizeof...(kAxes));
  using Axes = Eigen::IndexList<Eigen::type2index<kAxes>...>;
  static constexpr bool reduces(std::size_t axis) { return ((axis == kAxes) || ...); }
};

template <int kRank>
Eigen::DSizes<Eigen::Index, kRank> dimensions_of(const DenseProblem& problem) {
  Eigen::DSizes<Eigen::Index, kRank> sizes;
  for (std::size_t i = 0; i < kRank; ++i) sizes[i] = problem.sizes[i];
  return sizes;
}

template <class P>
Eigen::DSizes<Eigen::Index, P::kKept> kept_of(const DenseProblem& problem) {
  Eigen::DSizes<Eigen::Index, P::kKept> sizes;
  for (std::size_t i = 0, k = 0; i < P::kAll; ++i)
    if (!P::reduces(i)) sizes[k++] = problem.sizes[i];
  return sizes;
}

Eigen::ThreadPoolDevice& device_of(int threads) {
  static constexpr int kMost = 64;
  static Eigen::ThreadPoolDevice* devices[kMost + 1] = {};
  threads = threads > kMost ? kMost : threads;
  if (!devices[threads]) devices[threads] = new Eigen::ThreadPoolDevice(new Eigen::ThreadPool(threads), threads);
  return *devices[threads];
}

template <class P, class Out>
class Problem : public Expression {
 public:
  Problem(const DenseProblem& problem, int threads)
      : device(device_of(threads)),
        in(static_cast<const float*>(problem.in), dimensions_of<P::kAll>(problem)),
        kept(static_cast<Out*>(problem.out), kept_of<P>(problem)) {}

 protected:
  Eigen::ThreadPoolDevice& device;
  Eigen::TensorMap<Eigen::Tensor<const float, P::kAll, RowMajor>, Eigen::Aligned> in;
  Eigen::TensorMap<Eigen::Tensor<Out, P::kKept, RowMajor>, Eigen::Aligned> kept;
  typename P::Axes axes;
};

template <class P>
class Sum final : public Problem<P, float> {
 public:
  using Problem<P, float>::Problem;
  void run() override { this->kept.device(this->device) = this->in.sum(this->axes); }
};

template <class P>
class Max final : public Problem<P, float> {
 public:
  using Problem<P, float>::Problem;
  void run() override { this->kept.device(this->device) = this->in.maximum(this->axes); }
};

template <class P>
class Argmax final : public Problem<P, Eigen::Index> {
 public:
  using Problem<P, Eigen::Index>::Problem;
  void run() override {
    if constexpr (P::kKept == 0)
      this->kept.device(this->device) = this->in.argmax();
    else
      this->kept.device(this->device) = this->in.argmax(P::reduces(0) ? 0 : 1);
  }
};

// Maxima and sums keep their axes with size 1 and are broadcast: no temporary is as large as the input.
template <class P, bool kWritesAll>
class Exponentials final : public Problem<P, float> {
 public:
  Exponentials(const DenseProblem& problem, int threads)
      : Problem<P, float>(problem, threads),
        out_(static_cast<float*>(problem.out), this->in.dimensions()),
        most_(this->kept.dimensions()),
        sums_(this->kept.dimensions()) {
    for (std::size_t i = 0; i < P::kAll; ++i) {
      ones_[i] = P::reduces(i) ? 1 : problem.sizes[i];
      copies_[i] = P::reduces(i) ? problem.sizes[i] : 1;
    }
  }
  void run() override {
    most_.device(this->device) = this->in.maximum(this->axes);
    auto shifted = (this->in - most_.reshape(ones_).broadcast(copies_)).exp();
    if constexpr (kWritesAll) {
      out_.device(this->device) = shifted;
      sums_.device(this->device) = out_.sum(this->axes).inverse();
      out_.device(this->device) = out_ * sums_.reshape(ones_).broadcast(copies_);
    } else {
      this->kept.device(this->device) = shifted.sum(this->axes).log() + most_;
    }
  }

 private:
  Eigen::TensorMap<Eigen::Tensor<float, P::kAll, RowMajor>, Eigen::Aligned> out_;
  Eigen::Tensor<float, P::kKept, RowMajor> most_, sums_;
  Eigen::DSizes<Eigen::Index, P::kAll> ones_, copies_;
};

template <class P>
using Softmax = Exponentials<P, true>;
template <class P>
using Logsumexp = Exponentials<P, false>;

using All = Pattern<1, 0>;
using Rows = Pattern<2, 1>;
using Columns = Pattern<2, 0>;
using Middle = Pattern<3, 1>;
using OuterAndInner = Pattern<3, 0, 2>;

using Make = Expression* (*)(const DenseProblem&, int threads);
template <class E>
Expression* make(const DenseProblem& problem, int threads) {
  return new E(problem, threads);
}

struct Entry {
  EigenOp op;
  bool reduced_first;
  int rank;
  Make make;
};

constexpr Entry kEntries[] = {
    {kSum, true, 1, make<Sum<All>>},
    {kSum, false, 2, make<Sum<Rows>>},
    {kSum, true, 2, make<Sum<Columns>>},
    {kSum, false, 3, make<Sum<Middle>>},
    {kSum, true, 3, make<Sum<OuterAndInner>>},
    {kMax, true, 1, make<Max<All>>},
    {kMax, false, 2, make<Max<Rows>>},
    {kMax, true, 2, make<Max<Columns>>},
    {kMax, false, 3, make<Max<Middle>>},
    {kMax, true, 3, make<Max<OuterAndInner>>},
    {kArgmax, true, 1, make<Argmax<All>>},
    {kArgmax, false, 2, make<Argmax<Rows>>},
    {kArgmax, true, 2, make<Argmax<Columns>>},
    {kLogsumexp, false, 2, make<Logsumexp<Rows>>},
    {kLogsumexp, true, 2, make<Logsumexp<Columns>>},
    {kSoftmax, false, 2, make<Softmax<Rows>>},
    {kSoftmax, true, 2, make<Softmax<Columns>>},
    {kSoftmax, false, 3, make<Softmax<Middle>>},
    {kSoftmax, true, 3, make<Softmax<OuterAndInner>>},
};

}  // namespace

void* make_eigen_tensor(const DenseProblem& problem, int threads) {
  for (const Entry& entry : kEntries)
    if (entry.op == problem.op && entry.rank == problem.rank && entry.reduced_first == problem.reduced_first)
      return entry.make(problem, threads);
  return nullptr;
}

void run_eigen_tensor(void* expression) { static_cast<Expression*>(expression)->run(); }
void free_eigen_tensor(void* expression) { delete static_cast<Expression*>(expression); }

}  // namespace ndfold::bench::NDFOLD_BENCH_LEVEL
