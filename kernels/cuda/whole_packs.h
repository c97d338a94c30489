// Which kernels take steps that need not look for the ends of what they fold.
#pragma once
#include "kernels/cuda/bind.h"

namespace ndfold::cuda {

/// Between which elements packs around a row are the input's, whether results lie in packs as their elements do, and
/// how many packs cover a run.
void find_ends(const Step& step, const Found& found, Bound& bound);

/// A kernel of whole_lines.h, whole_runs.h or travelling.h, or none.
StepKernel kernel_of_whole_packs(const Step& step, const Found& found, Bound& bound);

/// The kernel of cut_lines.h, wherever the first line begins, or none.
StepKernel kernel_of_cut_lines(const Step& step, const Found& found, const Bound& bound);

/// The kernel of cut_runs.h or fold_cut_runs.h, wherever the first run begins, or none.
StepKernel kernel_of_cut_runs(const Step& step, const Found& found, Bound& bound);

/// The kernel of whole_lines.h for elements one by one, wherever they lie, or none.
StepKernel kernel_of_elements(const Step& step, const Found& found, const Bound& bound);

}  // namespace ndfold::cuda
