// The pieces that strategies build their steps from.
#pragma once
#include "plans/problem.h"
#include "plans/schedule.h"
#include "plans/tuning/tuning.h"

namespace ndfold {

/// A fold of the problem's own elements into the caller's output, one block an output (rows) or a panel (columns).
Step fold_step(const Problem& problem, Body body, const TuningRow& tuned);

/// Blocks of a step take so many elements of a row each.
void in_parts(Step& step, Index part);

/// Lets blocks of `part` elements share each output; their states go to `out`.
void divide_into_parts(Step& step, Index part, Buffer out);

/// Bytes of `parts` states an output.
Checked states_bytes(const Step& step, Index parts);

/// Lets the step write one state an output, row-major over its kept axes, rather than finish.
void leave_states(Step& step, Buffer out);

/// Merges `parts` states an output and finishes as `like` would have, whose outputs they belong to.
Step merge_step(const Step& like, Buffer states, Index parts);

/// `last` as a multi-step schedule: blocks of at most `limit` elements (a power of two is best), one partial state
/// each, folded again until one per output is left. Partials alternate between two places: they only shrink.
void add_fold_in_steps(Schedule& schedule, WorkspaceLayout& workspace, const Step& last, Index limit);

/// Moves elements; `axes` hold both strides.
Step permute_step(DType type, std::vector<Axis> axes, Buffer in, Buffer out, const Tuning& use);

/// out = map(in, values[output]) over the kept and reduced axes of `rows`.
Step elementwise_step(MapKind map, const Step& rows, Buffer in, DType input, Buffer out, DType output, Buffer values);

/// Elements of a columns block along the innermost kept axis, and how many such blocks lie side by side.
Index panel_elements(const Step& step);
Index panels(const Step& step);

/// Elements that parts of about `wanted` are made of: whole inner runs where several fit, so that no pack is cut; else,
/// along a row, lines of memory.
Index unit_of_parts(const Step& step, Index wanted);

/// Outputs of the widest tile: those of a panel, or one.
Index columns_of(const Step& step);

/// Bytes of `exchange` where blocks of one y share `tiles` outputs or panels (step.h says how it is laid out).
Checked exchange_bytes(const Step& step, Index tiles);

/// Neighbours joined, far to near: states lie in the order of their numbers however axes are cut. A softmax's results
/// are neighbours where its elements are, or stay apart.
enum class Joins : std::uint8_t { in, both };
std::vector<Axis> joined(const std::vector<Axis>& axes, Joins);

/// The same fold of elements along other axes, which no caller has given: nothing literal can be done with them.
Problem with_axes(const Problem& problem, std::vector<Axis> kept, std::vector<Axis> reduced);

/// The same sizes, dense and row-major in steps of `unit`, as input and output strides.
std::vector<Axis> dense_axes(const std::vector<Axis>& axes, Index unit = 1);

}  // namespace ndfold
