// A problem: a checked request in canonical form, and everything about it that a strategy may ask.
#pragma once
#include "plans/canonical.h"
#include "plans/request.h"

namespace ndfold {

struct Problem {
  RequestKind kind = RequestKind::reduce;
  FoldKind fold = FoldKind::none;  ///< none for a permute
  SinkKind sink = SinkKind::store;
  DType input = DType::f32, accumulate = DType::f32, output = DType::f32;
  Canonical axes;      ///< sorted and joined; left empty when no element is read or written
  Canonical as_given;  ///< in the caller's order, for the literal chain
  Index outputs = 0;   ///< elements of the output tensor
  Index inputs = 0;    ///< elements of the input tensor
  Index count = 0;     ///< elements folded into one output, repeats included
  Index ddof = 0;
  double scale = 1, alpha = 1;
  Index in_alignment_bytes = 1, out_alignment_bytes = 1;
  Index block_limit = 0;
  friend bool operator==(const Problem&, const Problem&) = default;

  bool reads_nothing() const { return inputs == 0; }
  bool folds_nothing() const { return axes.reduced.empty() && axes.repeat == 1; }
  /// Rows: the axis with the smallest stride is reduced. Columns: it is kept.
  bool innermost_is_reduced() const;
  double bytes_in() const;  ///< fewest possible to read: elements of distinct input offsets
  double bytes_out() const;
};

/// Offsets that a view can touch, in elements relative to element (0, …, 0).
struct Extent {
  Index low = 0, high = -1;  ///< inclusive; empty when high < low
  friend bool operator==(const Extent&, const Extent&) = default;
};

/// Checked; empty for a view without elements.
Result<Extent> extent_of(const ViewDesc& view, std::string_view argument);

/// Checks the whole request (one sentence for whatever is wrong) and brings it into canonical form.
Result<Problem> make_problem(const Request& request);

}  // namespace ndfold
