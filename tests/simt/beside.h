// Columns that are out of the ordinary beside ones that are not: a column is what it is beside any others.
#pragma once
#include "tests/simt/forced.h"

namespace simt {

struct Columns {
  DType type;
  Index rows, columns;
  Layout layout = Layout::row_major;
  Index shift = 0;
};

/// What element x of a row and a column becomes; every sixth column, from the first on, keeps its elements.
using Element = Real (*)(Index row, Index column, Real x);

inline Array filled(const Columns& of, Element element) {
  Array in(lay_out(of.type, {of.rows, of.columns}, of.layout, 5), of.shift);
  fill(in, Values::mixed);
  const auto places = in.elements();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Index row = static_cast<Index>(i) / of.columns, column = static_cast<Index>(i) % of.columns;
    in.set(places[i], element(row, column, in.get(places[i])));
  }
  return in;
}

/// Folds ordinary columns, then the others beside them, whose results it returns.
inline Array fold_beside(ReduceOp op, const Columns& of, Element element, const std::string& strategy,
                         const DeviceFacts& device, Tally& tally) {
  SCOPED_TRACE(::testing::Message() << name(of.type) << ' ' << of.rows << 'x' << of.columns << ' ' << strategy << ' '
                                    << name(of.layout));
  const auto fold = [&](Element what) {
    Array in = filled(of, what), out(lay_out(DType::f32, {of.columns}, Layout::row_major, 1));
    run_forced(ReduceSpec{.op = op, .axes = {0}}, in, out, device, strategy, tally);
    return out;
  };
  const Array ordinary = fold([](Index, Index, Real x) { return x; });
  Array beside = fold(element);
  const auto places = beside.elements();
  for (std::size_t c = 0; c < places.size(); c += 6)
    EXPECT_EQ(ordinary.get(places[c]), beside.get(places[c])) << "column " << c;
  return beside;
}

}  // namespace simt
