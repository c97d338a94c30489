// rows_in_block and columns_in_block: one block folds an output, or a panel of outputs, alone.
#include "plans/build/builders.h"
#include "plans/build/fit_columns.h"
#include "plans/build/keep_columns.h"
#include "plans/build/lines.h"
#include "plans/build/long_lines.h"
#include "plans/build/orientation.h"
#include "plans/build/steps.h"

#include <algorithm>

namespace ndfold {
namespace {

constexpr int kLoadsOfAnyLine = 4;  // of a lane that keeps its part of a line wherever it lies: kernels/cuda/catalog.h

Verdict shared_or(std::string_view strategy, Verdict verdict, const Problem& problem, const DeviceFacts& device) {
  if (verdict.kind != Verdict::Kind::yes) return verdict;
  verdict = or_better_on_cpu(strategy, problem, device);
  if (verdict.kind != Verdict::Kind::yes || !wants_split(problem, device)) return verdict;
  return unwise("its few blocks would leave cores idle");
}

// Reductions. A softmax of [65536,1024] f32 takes 170 us by warps, 130 by blocks of two; of half as long rows less by
// warps: docs/measurements/gpu/regret.csv. Lines of whole packs take no longer by warps, however few they are.
bool suits_warps(const Problem& problem, const DeviceFacts& device) {
  if (device.kind != DeviceKind::cuda) return false;
  if (suits_lines(problem, device) || wants_warps_for_long_rows(problem, device) || keeps_in_warp(problem, device))
    return true;
  if (const Index cut = lanes_of_cut_line(problem, device); cut > 0) return cut <= device.lanes;
  if (const Index packs = packs_of_cut_runs(problem, device); packs > 0) return packs <= device.lanes * kLoadsOfAnyLine;
  return fits_warp(problem) && has_rows_for_warps(problem, device);
}

// Of 16 bits runs of whole packs wait as a line does: kernels/cuda/softmax_kernel.h.
bool keeps_whole_lines(const Problem& problem, const DeviceFacts& device) {
  if (has_whole_lines(problem, device)) return true;
  return size_bytes(problem.input) == 2 && problem.kind == RequestKind::softmax && has_many_kernels(problem) &&
         !problem.axes.reduced.empty() && has_whole_runs(problem);
}

// Rows of 16 bits wait as elements (kernels/cuda/kept.h) where kernels look for no ends of runs. Others become numbers:
// as many bytes of f32.
void ask_for_numbers(TuningQuestion& question) {
  constexpr Index kHalf = 2, kNumber = 4;
  if (question.element_bytes != kHalf) return;
  question.reduced = ceil_divide(question.reduced * kHalf, kNumber);
  question.element_bytes = kNumber;
}

Schedule one_step(std::string_view strategy, Body body, const Problem& problem, const DeviceFacts& device) {
  const bool rows_of_gpu = body == Body::rows && device.kind == DeviceKind::cuda;
  const bool softmax = problem.kind == RequestKind::softmax;
  const Index run_packs = rows_of_gpu ? packs_of_cut_runs(problem, device) : 0;
  const bool cut_line = rows_of_gpu && lanes_of_cut_line(problem, device) > 0;
  const bool looks_for_no_ends = cut_line || (rows_of_gpu && keeps_whole_lines(problem, device));
  const bool one_batch = looks_for_no_ends || run_packs > 0;
  TuningQuestion question = question_of(strategy, problem, softmax && cut_line);
  if (run_packs > 0) question.reduced = run_packs * Index{Tuning{}.vector_bytes} / question.element_bytes;
  if (rows_of_gpu && softmax && !looks_for_no_ends) ask_for_numbers(question);
  const TuningRow* tuned = &tuning_for(device, question);
  Step step = fold_step(problem, body, *tuned);
  const bool long_lines = body == Body::rows && tuned->use.unroll > kLoadsOfAnyLine;
  const bool must_suit = body == Body::columns || long_lines;
  if (must_suit && tuned->residency == Residency::registers) {
    if (body == Body::columns && keep_columns(step, device)) return {.steps = {step}};
    question.registers = long_lines && one_batch && can_wait(step, Residency::registers, device);
    tuned = &tuning_for(device, question);
    step = fold_step(problem, body, *tuned);
  }
  const bool in_shared =
      rows_of_gpu && softmax && !has_many_kernels(problem) && tuned->residency == Residency::registers;
  settle(step, in_shared ? Residency::shared : tuned->residency, device);
  if (rows_of_gpu && one_batch && step.kernel.residency == Residency::registers) {
    step.launch.block =
        threads_of_packs(run_packs > 0 ? run_packs : packs_of_line(problem), step.kernel.tuning, device);
    step.kernel.tuning.threads = std::max(step.kernel.tuning.threads, step.launch.block);
  }
  if (rows_of_gpu) stay_for_rows(problem, device, step);
  if (body == Body::rows && problem.kind == RequestKind::reduce) fit_line(step, problem, device);
  if (body == Body::columns && problem.kind == RequestKind::reduce) fit_columns(step, device);
  return {.steps = {step}};
}

}  // namespace

Verdict can_rows_in_block(const Problem& problem, const DeviceFacts& device) {
  if (Verdict verdict = can_fold(problem); !verdict.possible()) return verdict;
  const Verdict apt = rows_are_apt(problem, device);
  if (suits_bundles(problem, device)) return unwise("short rows come in bundles");
  if (apt.kind == Verdict::Kind::yes && suits_warps(problem, device))
    return unwise("a warp has registers enough for a row");
  return shared_or("rows_in_block", apt, problem, device);
}

Schedule build_rows_in_block(const Problem& problem, const DeviceFacts& device) {
  return one_step("rows_in_block", Body::rows, problem, device);
}

Verdict can_columns_in_block(const Problem& problem, const DeviceFacts& device) {
  if (Verdict verdict = can_fold(problem); !verdict.possible()) return verdict;
  const Verdict apt = columns_are_apt(problem, device);
  if (apt.kind == Verdict::Kind::yes && suits_columns_in_bundles(problem, device))
    return unwise("such lines come in bundles");
  if (apt.kind == Verdict::Kind::yes && suits_columns_in_lanes(problem, device))
    return unwise("lanes of a warp are enough for so short a line");
  return shared_or("columns_in_block", apt, problem, device);
}

Schedule build_columns_in_block(const Problem& problem, const DeviceFacts& device) {
  return one_step("columns_in_block", Body::columns, problem, device);
}

}  // namespace ndfold
