#include "plans/validate.h"

#include "plans/checked.h"
#include "plans/problem.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

namespace ndfold {
namespace {

constexpr Index kExactOverlapElements = 1 << 16;

Status refuse(std::string_view argument, const std::string& sentence) {
  return Status(Code::invalid_argument, std::string(argument) + " " + sentence);
}

struct Reach {
  Index size, stride;
};

// Every stride exceeds all that the smaller ones can reach: then no two index tuples meet.
bool is_nested(std::vector<Reach> axes) {
  std::sort(axes.begin(), axes.end(), [](const Reach& a, const Reach& b) { return a.stride < b.stride; });
  Index reached = 0;
  for (const Reach& axis : axes) {
    if (axis.stride <= reached) return false;
    reached += (axis.size - 1) * axis.stride;
  }
  return true;
}

bool is_distinct_by_enumeration(const std::vector<Reach>& axes) {
  std::vector<Index> offsets = {0};
  for (const Reach& axis : axes) {
    std::vector<Index> next;
    for (Index i = 0; i < axis.size; ++i)
      for (Index offset : offsets) next.push_back(offset + i * axis.stride);
    offsets.swap(next);
  }
  return std::unordered_set<Index>(offsets.begin(), offsets.end()).size() == offsets.size();
}

}  // namespace

std::string text_of(const std::vector<Index>& sizes) {
  std::string text = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i ? ", " : "") + std::to_string(sizes[i]);
  return text + "]";
}

// A size of 0 is looked for first: beside it the others may be anything.
Index element_count(const ViewDesc& view) {
  if (std::find(view.sizes.begin(), view.sizes.end(), 0) != view.sizes.end()) return 0;
  Index product = 1;
  for (Index size : view.sizes) product *= size;
  return product;
}

Status check_view(const ViewDesc& view, std::string_view argument) {
  if (!is_known(view.dtype) || view.dtype == DType::best)
    return refuse(argument, "has element type " + std::string(name(view.dtype)) + ", which is not a type of data");
  if (view.sizes.size() != view.strides.size())
    return refuse(argument, "has " + std::to_string(view.sizes.size()) + " sizes but " +
                                std::to_string(view.strides.size()) + " strides");
  if (view.alignment_bytes < 0 ||
      (view.alignment_bytes > 0 && !std::has_single_bit(static_cast<std::uint64_t>(view.alignment_bytes))))
    return refuse(argument, "claims an alignment of " + std::to_string(view.alignment_bytes) +
                                " bytes, which is not a power of two");
  bool empty = false;
  for (std::size_t i = 0; i < view.sizes.size(); ++i) {
    if (view.sizes[i] < 0)
      return refuse(argument, "has size " + std::to_string(view.sizes[i]) + " along axis " + std::to_string(i));
    empty = empty || view.sizes[i] == 0;
  }
  if (empty) return {};
  Checked count = 1;
  for (Index size : view.sizes) count *= size;
  count *= static_cast<Index>(size_bytes(view.dtype));
  if (!count.fits())
    return Status(Code::overflow,
                  std::string(argument) + " of sizes " + text_of(view.sizes) + " has more than 2^63 bytes");
  return extent_of(view, argument).error();
}

Result<Extent> extent_of(const ViewDesc& view, std::string_view argument) {
  Checked low = 0, high = 0, span = 0;
  for (std::size_t i = 0; i < view.sizes.size(); ++i) {
    if (view.sizes[i] == 0) return Extent{};
    if (view.sizes[i] == 1) continue;  // its stride is never taken
    const Checked reach = Checked(view.sizes[i] - 1) * view.strides[i];
    (view.strides[i] < 0 ? low : high) += reach;
    span += Checked(view.sizes[i]) * view.strides[i] * (view.strides[i] < 0 ? -1 : 1);
  }
  const Checked width = static_cast<Index>(size_bytes(view.dtype));
  if (!(span * width).fits() || !((high + 1) * width).fits() || !(low * width).fits())
    return Status(Code::overflow, std::string(argument) + " of sizes " + text_of(view.sizes) + " and strides " +
                                      text_of(view.strides) + " reaches beyond 2^63 bytes");
  return Extent{low.value(), high.value()};
}

Status check_writes_are_distinct(const ViewDesc& out) {
  if (element_count(out) == 0) return {};
  std::vector<Reach> axes;
  for (std::size_t i = 0; i < out.sizes.size(); ++i) {
    if (out.sizes[i] == 1) continue;
    if (out.strides[i] == 0)
      return Status(Code::overlap, "out has stride 0 along axis " + std::to_string(i) + " of " +
                                       std::to_string(out.sizes[i]) + " elements, which would share one address");
    axes.push_back({out.sizes[i], out.strides[i] < 0 ? -out.strides[i] : out.strides[i]});
  }
  if (is_nested(axes)) return {};
  if (element_count(out) <= kExactOverlapElements && is_distinct_by_enumeration(axes)) return {};
  return Status(Code::overlap, "out of sizes " + text_of(out.sizes) + " and strides " + text_of(out.strides) +
                                   " may write two elements to one address");
}

Status check_sizes(const ViewDesc& out, const std::vector<Index>& expected) {
  const auto axes = [](std::size_t n) { return std::to_string(n) + (n == 1 ? " axis" : " axes"); };
  if (out.sizes.size() != expected.size())
    return refuse("out", "has " + axes(out.sizes.size()) + ", the result has " + std::to_string(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (out.sizes[i] != expected[i])
      return refuse("out", "has size " + std::to_string(out.sizes[i]) + " along axis " + std::to_string(i) +
                               ", the result has " + std::to_string(expected[i]));
  return {};
}

}  // namespace ndfold
