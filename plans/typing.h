// Which types go together: the fold of an op, its accumulator, the outputs it may write, the size of its state.
#pragma once
#include <ndfold/op.h>
#include <ndfold/status.h>
#include <ndfold/step.h>

namespace ndfold {

/// The fold behind an op.
FoldKind fold_of(ReduceOp op, bool compensated);

/// The accumulator: `wanted`, or for DType::best the op's own choice. Refuses by naming the combination.
Result<DType> accumulate_type(ReduceOp op, DType input, DType wanted);

/// Refuses an output type that cannot hold the results, by naming the combination.
Status check_output_type(ReduceOp op, DType input, DType output);

/// Floats accumulate in f32, or f64 for f64.
constexpr DType floating_accumulator(DType input) { return input == DType::f64 ? DType::f64 : DType::f32; }

/// Bytes of one state in a workspace. tests/cpu/catalog_test.cpp holds it against sizeof.
Index state_bytes(FoldKind fold, DType accumulate);

}  // namespace ndfold
