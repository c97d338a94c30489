// What a view must satisfy before anything else is asked of it.
#pragma once
#include "plans/request.h"

namespace ndfold {

/// "[2, 3, 4]"
std::string text_of(const std::vector<Index>& sizes);

/// Known type, one stride an axis, sizes ≥ 0, a legal alignment, element count and byte offsets that fit 64 bits.
Status check_view(const ViewDesc& view, std::string_view argument);

/// Number of elements; only after check_view().
Index element_count(const ViewDesc& view);

/// Refuses an output in which two elements share an address.
Status check_writes_are_distinct(const ViewDesc& out);

/// `out` has exactly these sizes.
Status check_sizes(const ViewDesc& out, const std::vector<Index>& expected);

}  // namespace ndfold
