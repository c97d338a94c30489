// What a tensor looks like (ViewDesc), where it lies (TensorView), and how axes are named (AxisSet, Order).
#pragma once
#include <ndfold/dtype.h>

#include <initializer_list>
#include <utility>
#include <vector>

namespace ndfold {

/// Shape and strides without a pointer: all that a plan needs to know of a tensor.
struct ViewDesc {
  DType dtype = DType::f32;
  std::vector<Index> sizes = {};  ///< one an axis, outermost first; 0 is allowed; rank 0 is one element
  std::vector<Index> strides =
      {};  ///< in elements, one an axis; negative and 0 are allowed, anything on an axis of size ≤ 1
  /// The address is a multiple of this many bytes: a power of two, or 0 for "of the element's size, no more".
  /// A plan made for an alignment refuses a pointer that lacks it.
  Index alignment_bytes = 0;

  int rank() const { return static_cast<int>(sizes.size()); }
  friend bool operator==(const ViewDesc&, const ViewDesc&) = default;
};

/// Strides of a dense row-major array of these sizes, in elements.
inline std::vector<Index> row_major_strides(const std::vector<Index>& sizes) {
  std::vector<Index> strides(sizes.size());
  std::uint64_t next = 1;  // unsigned: hostile sizes may wrap here; planning refuses them later
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = static_cast<Index>(next);
    next *= static_cast<std::uint64_t>(sizes[i] > 0 ? sizes[i] : 1);
  }
  return strides;
}

/// A dense row-major view of these sizes.
inline ViewDesc dense(DType dtype, std::vector<Index> sizes) {
  auto strides = row_major_strides(sizes);
  return {.dtype = dtype, .sizes = std::move(sizes), .strides = std::move(strides)};
}

enum class DeviceKind : std::uint8_t { cpu, cuda };

/// Where memory lies.
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int ordinal = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

/// A writable tensor: a description and the address of element (0, …, 0). Never owns.
struct TensorView {
  void* data = nullptr;
  ViewDesc desc = {};
  Device device = {};
};

/// A tensor that is only read.
struct ConstTensorView {
  const void* data = nullptr;
  ViewDesc desc = {};
  Device device = {};

  ConstTensorView() = default;
  ConstTensorView(const void* address, ViewDesc description, Device place = {})
      : data(address), desc(std::move(description)), device(place) {}
  ConstTensorView(const TensorView& view) : data(view.data), desc(view.desc), device(view.device) {}
};

/// The axes to reduce: a list (negative counts from the last), none, or all of them said explicitly.
class AxisSet {
 public:
  AxisSet() = default;
  AxisSet(std::initializer_list<int> axes) : axes_(axes) {}
  explicit AxisSet(std::vector<int> axes) : axes_(std::move(axes)) {}

  static AxisSet none() { return {}; }
  static AxisSet all() {
    AxisSet set;
    set.all_ = true;
    return set;
  }

  bool is_all() const { return all_; }
  const std::vector<int>& list() const { return axes_; }  ///< as the caller gave them; empty when is_all()
  friend bool operator==(const AxisSet&, const AxisSet&) = default;

 private:
  std::vector<int> axes_;
  bool all_ = false;
};

/// A permutation: axis i of the output is axis `axes[i]` of the input (negative counts from the last).
struct Order {
  std::vector<int> axes;
  friend bool operator==(const Order&, const Order&) = default;
};

}  // namespace ndfold
