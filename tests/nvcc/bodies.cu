// Every kernel body, scope, source, sink and residency once, as nvcc sees them. Nothing here runs.
#include "kernels/cuda/kernel_of.h"
#include "kernels/folds/arg_extremum.h"
#include "kernels/folds/moments.h"
#include "kernels/folds/sum.h"

namespace ndfold::cuda {

/// What a catalog looks like: references keep the kernels alive.
Kernel kernels_of_bodies[] = {
    rows<Elements<float, float, 4>, folds::Sum<float>, NearScope, ResultSink, ReadAgain, Tuned<256, 8>>,
    rows<Elements<float, float, 4>, folds::Sum<float>, NearScope, ResultSink, ReadAgain, Tuned<512, 8>>,
    rows<Elements<float, float, 4>, folds::Sum<float>, GridScope, ResultSink, ReadAgain, Tuned<512, 8, 2>>,
    rows<Elements<Half, float, 8>, folds::Variance<float>, NearScope, ResultSink, ReadAgain, Tuned<512, 4>>,
    rows<Elements<float, float, 1>, folds::ArgMax<float>, NearScope, ResultSink, ReadAgain, Tuned<512, 8>>,
    rows<States<folds::Variance<float>>, folds::Merge<folds::Variance<float>>, NearScope, ResultSink, ReadAgain,
         Tuned<512, 4>>,
    rows<InLine<Elements<float, float, 4>>, Softmax<float>, NearScope, ElementSink<float>, InRegisters, Tuned<256, 4>>,
    rows<InLine<Elements<float, float, 4>>, Softmax<float>, NearScope, ElementSink<float>, InRegisters, Tuned<1024, 4>>,
    rows<InLine<Elements<BFloat16, float, 8>>, Softmax<float>, NearScope, ElementSink<BFloat16>, InRegisters,
         Tuned<512, 4>>,
    rows<Elements<float, float, 4>, Softmax<float>, NearScope, ElementSink<float>, InShared, Tuned<512, 4>>,
    rows<Elements<float, float, 4>, Softmax<float>, GridScope, ElementSink<float>, InShared, Tuned<512, 4, 2>>,
    bundles<InLine<Elements<float, float, 4>>, InLine<Elements<float, float, 1>>, folds::Sum<float>, ResultSink,
            Tuned<256, 4, 3>>,
    bundles<InLine<Elements<BFloat16, float, 8>>, InLine<Elements<BFloat16, float, 1>>, Softmax<float>,
            ElementSink<BFloat16>, Tuned<256, 4, 3>>,
    long_lines<InLine<Elements<float, float, 4>>, Softmax<float>, MapSink<float, MapKind::softmax>, true,
               Tuned<512, 7, 2>>,
    long_lines<InLine<Elements<BFloat16, float, 8>>, Softmax<float>, MapSink<BFloat16, MapKind::log_softmax>, false,
               Tuned<512, 6, 2>>,
    tall_columns<InLine<Elements<float, float, 4>>, Softmax<float>, ElementSink<float>, OneBlock, Tuned<512, 7, 2>>,
    tall_columns<InLine<Elements<BFloat16, float, 4>>, Softmax<float>, ElementSink<BFloat16>,
                 Sharers<Tuned<512, 10, 2>>, Tuned<512, 10, 2>>,
    tall_sectors<InLine<Elements<float, float, 4>>, Softmax<float>, ElementSink<float>, Sharers<Tuned<512, 6, 2>>,
                 Tuned<512, 6, 2>>,
    tall_sectors<InLine<Elements<BFloat16, float, 4>>, Softmax<float>, ElementSink<BFloat16>, OneBlock,
                 Tuned<512, 10, 2>>,
    few_rows<InLine<Elements<float, float, 4>>, folds::Variance<float>, Tuned<256, 8, 3>>,
    few_rows<InLine<Apart<Elements<float, float, 4>>>, folds::Sum<float>, Tuned<256, 8, 4>>,
    joined_rows<InLine<Elements<float, float, 4>>, folds::ArgMax<float>, NearScope, Tuned<256, 8, 2>>,
    joined_rows<InLine<Elements<BFloat16, float, 8>>, Softmax<float>, GridScope, Tuned<256, 8, 2>>,
    columns<Apart<Elements<float, float, 4>>, folds::Sum<float>, NearScope, ResultSink, ReadAgain, Tuned<256, 8, 3>>,
    columns<Elements<float, float, 4>, folds::Sum<float>, NearScope, ResultSink, ReadAgain, Tuned<512, 8>>,
    columns<Elements<float, float, 4>, folds::Variance<float>, GridScope, ResultSink, ReadAgain, Tuned<512, 8, 2>>,
    columns<Elements<float, float, 4>, Softmax<float>, NearScope, ElementSink<float>, InShared, Tuned<512, 4>>,
    columns<Elements<BFloat16, float, 8>, Softmax<float>, NearScope, ElementSink<BFloat16>, InShared, Tuned<512, 4>>,
    columns<Elements<float, float, 4>, Softmax<float>, GridScope, ElementSink<float>, InShared, Tuned<256, 4, 3>>,
    columns<Elements<double, double, 1>, Softmax<double>, NearScope, ElementSink<double>, ReadAgain, Tuned<512, 4>>,
    elementwise<Elements<float, float, 4>, float, Tuned<256, 4, 4>>,
    elementwise<Elements<float, float, 4>, BFloat16, Tuned<256, 4, 4>>,
    permute_tiles<std::uint32_t, Tuned<512, 4>>,
    permute_packs<Elements<std::uint32_t, std::uint32_t, 4>, Tuned<512, 4>>,
};

}  // namespace ndfold::cuda
