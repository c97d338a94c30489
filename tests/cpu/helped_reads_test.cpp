// Lines that are looked at again: the same results, and nothing behind a run is read.
#include "kernels/cpu/helped_reads.h"

#include "kernels/cpu/leaf.h"
#include "kernels/folds/sum.h"
#include "tests/support/values.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <vector>

namespace ndfold::test {
namespace {

using namespace folds;

/// A page, and behind it one that nobody may read.
class GuardedPage {
 public:
  GuardedPage() {
    memory_ =
        static_cast<char*>(mmap(nullptr, 2 * bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (mprotect(memory_ + bytes(), bytes(), PROT_NONE) != 0) std::abort();
    for (std::size_t i = 0; i < bytes(); ++i) memory_[i] = static_cast<char>(hash(i) % 100);
  }
  ~GuardedPage() { munmap(memory_, 2 * bytes()); }
  GuardedPage(const GuardedPage&) = delete;
  GuardedPage& operator=(const GuardedPage&) = delete;

  /// The last n elements before what nobody may read.
  template <class T>
  const T* last(Index n) const {
    return reinterpret_cast<const T*>(memory_ + bytes()) - n;
  }

 private:
  static std::size_t bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
  char* memory_;
};

template <class T>
void expect_same_integers(const GuardedPage& page) {
  for (Index n = 1; n < 400; ++n) {
    const T* x = page.last<T>(n);
    ASSERT_EQ(simd::extremum_of_run<Max<T>>(x, n, true), simd::extremum_of_run<Max<T>>(x, n)) << n;
    ASSERT_EQ(simd::sum_of_run(x, n, true), simd::sum_of_run(x, n)) << n;
    ASSERT_EQ(simd::squares_of_run(x, n, true), simd::squares_of_run(x, n)) << n;
    using Bits = simd::Word<std::make_unsigned_t<T>, false>;
    const auto* words = reinterpret_cast<const Bits*>(x);
    ASSERT_EQ(simd::count_of_run(words, n, true), simd::count_of_run(words, n)) << n;
  }
}

TEST(helped_reads, integers) {
  const GuardedPage page;
  expect_same_integers<std::int8_t>(page), expect_same_integers<std::uint8_t>(page);
  expect_same_integers<std::int16_t>(page), expect_same_integers<std::uint32_t>(page);
  expect_same_integers<std::int32_t>(page), expect_same_integers<std::uint64_t>(page);
}

template <template <class> class F, class A>
void expect_same_leaves(const GuardedPage& page) {
  for (Index n = 1; n < 400; ++n) {
    simd::Leaf<A> leaf;
    leaf.count = 1, leaf.elements = n;
    leaf.segments[0] = {.start = page.last<A>(n), .length = n, .index = 0, .weight = 1};
    const auto once = simd::fold_leaf(F<A>(), F<simd::LanesOf<A>>(), leaf);
    leaf.is_far = true;
    const auto twice = simd::fold_leaf(F<A>(), F<simd::LanesOf<A>>(), leaf);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(double{twice}), std::bit_cast<std::uint64_t>(double{once})) << n;
  }
}

TEST(helped_reads, leaves) {
  const GuardedPage page;
  expect_same_leaves<Sum, float>(page), expect_same_leaves<Sum, double>(page);
  expect_same_leaves<Max, float>(page), expect_same_leaves<Min, double>(page);
}

}  // namespace
}  // namespace ndfold::test
