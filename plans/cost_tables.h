// The figures of the cost model, each with what it rests on. Efficiencies are shares of the device's plateau.
#pragma once
#include <ndfold/dtype.h>

namespace ndfold {

/// A staircase: the value of the first row whose limit is not exceeded, else of the last.
struct StairRow {
  double up_to, value;
};

template <std::size_t N>
constexpr double on_stairs(const StairRow (&rows)[N], double x) {
  for (const StairRow& row : rows)
    if (x <= row.up_to) return row.value;
  return rows[N - 1].value;
}

/// By contiguous run in bytes: column tiles of a pitch of 16 KiB, docs/measurements/h200-facts.md#contiguous-runs.
/// Runs below 16 bytes were not measured: a 32-byte sector is fetched for each element.
inline constexpr StairRow kReadByRun[] = {{2, 0.05},  {4, 0.09},  {8, 0.17},   {16, 0.33},
                                          {32, 0.60}, {64, 0.66}, {128, 0.97}, {1e300, 1.0}};
inline constexpr StairRow kCopyByRun[] = {{2, 0.03},  {4, 0.06},  {8, 0.11},   {16, 0.20},
                                          {32, 0.69}, {64, 0.77}, {128, 0.95}, {1e300, 1.0}};

/// A kernel of ours against a driver's copy: 3.9 to 4.1 of 4.27 TB/s, docs/measurements/h200-facts.md#bandwidth.
inline constexpr double kKernelShare = 0.95;

/// One-read softmax by blocks that keep a tile together, beside a block alone: docs/measurements/gpu/regret.csv. Rows
/// of 1 MiB take a cluster of 16 1.3 times as long as the grid; 4 and 8 lie between what was measured.
inline constexpr StairRow kRowShareByCluster[] = {{2, 0.95}, {4, 0.90}, {8, 0.80}, {16, 0.55}};
/// By bytes of a block's part, beside long ones: rows of 8192 f32 reach 0.47 of a copy in two blocks, of 16 384 0.77;
/// alone in a block, of which a multiprocessor has two, 0.91 and 0.89 (sweep.csv of 134dba4).
inline constexpr StairRow kRowShareByClusterPart[] = {
    {8 << 10, 0.32}, {16 << 10, 0.50}, {54 << 10, 0.85}, {1e300, 1.0}};
/// Of 16-bit elements in more than two blocks: bf16 rows of 128 256 and 2^18 reach 0.595 and 0.57 of a copy.
inline constexpr double kHalfRowsInLargeClusters = 0.77;
/// Kept in registers and beyond: rows of 65 536, 128 256, 2^18 and 2^19 f32 by 2, 4, 8 and 16 blocks reach 0.94, 0.92,
/// 0.89 and 0.85 of a copy, of 128 256, 2^18, 2^19 and 2^20 bf16 0.90, 0.87, 0.83 and 0.77; cut ones as much, but
/// 2^19 - 1 f32 0.79 and bf16 of 16 blocks 0.72. Parts of 64 KiB reach 0.97 of that, of 32 KiB 0.94.
inline constexpr StairRow kLinesByCluster[] = {{2, 0.99}, {4, 0.97}, {8, 0.94}, {1e300, 0.86}};
inline constexpr StairRow kLinesByClusterPart[] = {{36 << 10, 0.94}, {66 << 10, 0.97}, {1e300, 1.0}};
inline constexpr double kHalfLinesByCluster = 0.94, kCutLinesByCluster = 0.98, kHalfCutLinesByCluster = 0.96;
/// A block alone on its multiprocessor, with much more of a line than registers keep: 132 of 32 768 f32 0.74 of a copy,
/// by two blocks each 0.86; of 264 and more 0.96 and 0.92.
inline constexpr StairRow kLinesBeyond[] = {{1, 0.80}, {1e300, 1.0}};
inline constexpr Index kMuchBeyondBytes = 32 * 1024;
/// Columns of which registers keep a part: f32 [64,512,4096] axis 1 and [512,65536] axis 0 0.96 and 0.90 of a copy,
/// 1024 rows 0.95 and 0.84; bf16 0.94 and 0.85, 0.86 and 0.77. By two blocks of a cluster 2048 rows 0.89 and 0.79, bf16
/// 0.73, by four 4096 rows 0.83 and 0.78, bf16 0.70 and 0.69, by eight 8192 rows bf16 0.62.
inline constexpr double kTallPanels = 0.98, kHalfTallPanels = 0.91;
inline constexpr StairRow kTallByCluster[] = {{2, 0.90}, {4, 0.88}, {1e300, 0.79}};
inline constexpr double kHalfTallByCluster = 0.96;
/// Of rows that begin anywhere in a pack, beside a column read as often as panels overlap: f32 [300,200001] and
/// [512,131071] axis 0 0.81 and 0.79 of a copy, [64,512,2047] and [2048,577,49] axis 1 0.85 and 0.78; by four blocks
/// [1000,65001] and [64,1000,1001] 0.72 and 0.74; bf16 [300,400001] 0.70, by two blocks [64,577,2001] 0.62.
inline constexpr double kTallSectors = 0.90, kHalfTallSectors = 0.92, kTallSectorsByCluster = 0.89;
/// And where results begin elsewhere in a pack than elements: [1024,65535] of rows of 2^16 f32 0.70 of a copy, bf16
/// 0.40.
inline constexpr double kTallAcross = 0.88, kHalfTallAcross = 0.75;
inline constexpr StairRow kColumnShareByCluster[] = {{2, 0.92}, {4, 0.86}, {8, 0.84}, {16, 0.62}};
inline constexpr double kHalfColumnsByCluster = 0.92;  // bf16 [4096,16384] axis 0 122 us, 110 in a grid
/// The last row is one row of 2^22 elements in all blocks, which wait once, not once a tile.
inline constexpr StairRow kRowShareByGroup[] = {{2, 0.82}, {16, 0.91}, {64, 0.77}, {128, 0.68}, {1e300, 0.73}};
inline constexpr double kWholeGridInTurns = 0.53;  // rows of 16 MiB, for which all blocks wait in turn: 0.46 of a copy
inline constexpr StairRow kColumnShareByGroup[] = {{8, 0.64}, {40, 0.60}, {1e300, 0.56}};

/// Rows of runs of so many bytes, which lanes along them share: softmaxes of [A,K,r] over axes 0 and 2, by a block and
/// by several (docs/measurements/gpu-history.md#columns-in-lanes).
inline constexpr StairRow kShortRunsOfBlock[] = {{16, 0.2}, {32, 0.3}, {64, 0.5}, {256, 0.8}, {1e300, 1.0}};
inline constexpr StairRow kHalfShortRunsOfBlock[] = {{16, 0.15}, {32, 0.2}, {64, 0.3}, {150, 0.6}, {1e300, 0.75}};
inline constexpr StairRow kWholeRunsOfBlock[] = {{16, 0.5}, {1e300, 1.0}};  // bf16 [857,4096,4,4] over 0, 2 and 3: 0.69
inline constexpr StairRow kShortRuns[] = {{16, 0.2}, {32, 0.3}, {64, 0.5}, {1024, 0.65}, {1e300, 0.8}};
inline constexpr StairRow kHalfShortRuns[] = {{16, 0.15}, {32, 0.2}, {64, 0.3}, {1e300, 0.28}};
inline constexpr StairRow kWholeRuns[] = {{16, 0.2}, {32, 0.3}, {64, 0.5}, {256, 0.85}, {1e300, 1.0}};
/// Runs with gaps of less than a line between them, by a run's bytes, beside what is asked for: softmaxes f32 of [6000,
/// 1000,2], [70307,197,3], [1000,3000,4] and [3000,500,6] with gaps over axes 1 and 2 0.26, 0.28, 0.34 and 0.53 of a
/// copy.
inline constexpr StairRow kNearShortRuns[] = {{12, 0.28}, {32, 0.37}};
/// Read twice where they are no whole packs: bf16 [24,341,16,3,196] over axes 1, 2 and 4 1.6 ms a launch, an H100.
inline constexpr double kCutRunsAgain = 0.4, kHalfCutRunsAgain = 0.2;
/// And the map of such rows, a line a run: in two launches those softmaxes reach 0.04 to 0.12 of a copy up to 132
/// bytes, 0.15 to 0.27 at 500 to 800.
inline constexpr StairRow kMapOfRuns[] = {{64, 0.06}, {128, 0.08}, {256, 0.12}, {512, 0.2}, {1024, 0.35}, {1e300, 1.0}};
/// Columns of uneven rows along several axes, by how many lie side by side: a block takes their rows one by one
/// (the same section).
inline constexpr StairRow kUnevenRowsOfRuns[] = {{16, 0.25}, {64, 0.40}, {256, 0.55}, {1e300, 0.75}};
inline constexpr double kHalfUnevenRowsOfRuns = 0.6;
/// And what maps them, and a softmax of them by one block: in two launches bf16 [64,100,49,283] over axes 0 and 2 takes
/// 596 us, f32 [33,2000,41,33] 1198.
inline constexpr StairRow kMapOfUnevenRows[] = {{64, 0.25}, {1e300, 0.5}};
inline constexpr double kHalfMapOfUnevenRows = 0.7, kHalfUnevenRunsInBlock = 0.5;
/// And of rows along one axis whose results begin elsewhere in a pack: [2048,32767] of rows of 2^15 f32 417 us in two
/// launches, where both begin alike 225, bf16 325 and 113.
inline constexpr double kMapAcross = 0.45, kHalfMapAcross = 0.28;
/// Lines of less than a sector with gaps, mapped by columns: log_softmax f32 of [255,513,2,20,6] over axes 1 and 3 1172
/// us so, 351 in clusters; [6,20,63,1024,5] over 0, 1 and 4 1980.
inline constexpr double kMapOfNarrowLines = 0.15;
inline constexpr Index kLongStretch = 4096;  // elements: f32 [18,16,17,1500,6] over axes 1 and 3 274 us, 168 MiB
/// Columns that lie apart, of 16 bits and of f32, and in a grid besides: f16 [4,33,1500,48,5] over axes 2 and 4 0.15 of
/// a copy; f32 with gaps [2,1025,15,100,7] over 2, 3 and 4 252 us in clusters and 504 in a grid, [70307,197,3] over 1
/// and 2 366 and 1135.
inline constexpr double kHalfStridedColumns = 0.35, kStridedColumns = 0.45, kStridedInGrid = 0.45;
/// Folds that look twice at columns of 16 bits, and at columns of uneven rows: logsumexp bf16 [16384,8192] axis 0 0.70
/// of a stream, [100000,1001] 0.53; f32 of uneven rows with gaps 0.65 to 0.72 (gpu-history.md#rows-that-lie-apart).
inline constexpr double kHalfLooksAtColumns = 0.75, kLooksAtUnevenColumns = 0.75;
/// Packs of 16 bits that begin anywhere, beside whole ones: sums of 40 to 200 rows 0.75 to 0.89 of a stream for 0.89,
/// logsumexp 0.58 to 0.75 for 0.86 (gpu-history.md#columns-of-16-bits-once-more).
inline constexpr double kColumnsAcross = 0.85;
/// Lanes of a warp that share a line's columns, an element at a time (the same section).
inline constexpr double kColumnsInLanes = 0.6, kHalfColumnsInLanes = 0.3;

/// Lines of columns that come in bundles, by rows: what an output takes is shared by its elements. Sums f32 of 5, 16
/// and 33 rows reach 0.75, 0.76 and 0.85 of a stream, maxima bf16 of 2, 3, 10 and 64 0.36, 0.46, 0.58 and 0.81,
/// logsumexp f32 of 33 0.80, var bf16 of 30 and 65 0.55 and 0.71; softmaxes f32 0.70 to 0.77, bf16 of 3, 9, 32 and 1024
/// 0.54, 0.64, 0.77 and 0.65, over two axes 0.45 (gpu-history.md#lines-in-bundles).
inline constexpr StairRow kLinesInBundles[] = {{2, 0.50}, {4, 0.60}, {12, 0.75}, {1e300, 0.90}};
inline constexpr double kHalfLinesInBundles = 0.87, kLooksInBundles = 0.88, kLookedUp = 0.65;
/// Reductions over two axes: of [16384,3,33,33] over 1 and 3 var f32 and bf16 171 and 116 us of 51, sums 113 and 75; of
/// [20000,5,20,40] sums 89 and 94 of 74; but var f32 of [3,768,24,80,6] over 2 and 4 33 of 27, and logsumexp f32 and
/// bf16 of [3855,8,64,17] 42 and 29 of 33 and 17.
inline constexpr double kHalfSumsLookedUp = 0.85, kShortLookedUp = 0.97, kHalfShortLooksLookedUp = 0.78;
inline constexpr Index kShortRunOfBundles = 20;

/// Rows and columns that travel, by blocks that share one: docs/measurements/h200-facts.md#rows-that-travel, beside
/// kKernelShare. A row that has no room beside the next one is finished first: 2^22 elements 0.65 of a copy.
inline constexpr StairRow kTravellingRows[] = {{8, 0.885}, {20, 0.915}, {100, 0.925}, {1e300, 0.88}};
inline constexpr StairRow kTravellingPanels[] = {{4, 0.925}, {8, 0.88},  {16, 0.86},
                                                 {40, 0.84}, {70, 0.79}, {1e300, 0.64}};
inline constexpr double kHalfTravellingRows = 0.89;
/// Rows that begin anywhere in a pack: 159 and 154 us of f32, 98 to 103 of bf16, which others take 151 and 88 for.
inline constexpr double kTravellingCutRows = 0.96, kHalfTravellingCutRows = 0.87;
/// Of bf16 that wait in a block's shared memory: of 50 257 94 us, of 49 152 84.
inline constexpr double kHalfCutLinesInShared = 0.89;

/// Panels of 16 bits beside those of f32: [2048,32768], [4096,16384], [8192,8192] and [16384,4096] axis 0 0.59, 0.58,
/// 0.55 and 0.47 of a copy for 0.72, 0.74, 0.74 and 0.69 (the same file).
inline constexpr StairRow kHalfTravellingPanels[] = {{8, 0.82}, {16, 0.79}, {32, 0.75}, {1e300, 0.68}};
inline constexpr double kTravellingAlone = 0.78;
inline constexpr Index kRingBytesOfThread = 384;  // that a block has room for, though one turn takes less
/// Rows that are longer than all rings, beside two reads and a write, and for each row until its states have met: 2^27
/// f32 0.65 of a copy, 2^24 0.63, four of 2^23 0.65, 2^25 bf16 0.61.
inline constexpr double kPassingRows = 1.02, kPassingMicroseconds = 7;
/// Elements one by one, beside packs: rows that lie elsewhere in a pack than their results 0.65 of a copy instead of
/// 0.88, backwards 0.71; runs of 201 and 331 0.47 and 0.46 instead of 0.84; columns backwards 0.56 instead of 0.72, and
/// 0.30 to 0.46 where a panel's rows lie in parts of sectors.
inline constexpr double kElementsOfRows = 0.78;
inline constexpr double kElementsOfRuns = 0.55;
inline constexpr double kHalfElementsOfRuns = 0.36;  // [20709,10,255] over axes 0 and 2 0.12 of a copy
inline constexpr double kElementsOfColumns = 0.78;
inline constexpr double kElementsOfUnevenColumns = 0.45;

/// Panels that overlap and travel keep the bus of no device busy; by blocks that share one, GB/s, 0.93 of what an H200
/// and an H100 were found to move: [512,131071], [1000,65001], [2048,32767], [4096,16383] and [8192,8196] axis 0 take
/// 251, 251, 264, 282 and 339 us there, and 257, 260, 271, 289 and 358 (two launches 234, 232, 222, 251, 225 and 314 to
/// 303).
inline constexpr StairRow kOverlapGigabytes[] = {{4, 2000}, {8, 1930}, {16, 1890}, {40, 1770}, {1e300, 1470}};

/// A block loads, waits, stores: alone on its multiprocessor it does not overlap them. Same file: rows of 128 KiB reach
/// 0.75 of a copy in one block, of 16 KiB 0.97; columns of 64 KiB 0.94, of 128 and 192 KiB
/// 0.70 to 0.84, by how far their rows lie apart.
inline constexpr StairRow kRowOverlap[] = {{1, 0.77}, {2, 0.91}, {1e300, 1.0}};
inline constexpr StairRow kColumnOverlap[] = {{1, 0.87}, {2, 0.95}, {1e300, 1.0}};

/// Rows that are runs apart, beside lines: addresses cost as much as elements. [128,256,2048] axes 0 and 2, f32 and
/// bf16.
inline constexpr double kRowsInRuns = 0.90;
inline constexpr double kHalfRowsInRuns = 0.72;

/// Columns of a few elements, whose sectors are read mostly for nothing: what a kernel does besides hardly counts.
/// Softmax bf16 of [16384,5,256,2] with gaps over axes 0 and 2 679 us in a grid, 0.06 of a copy, and sums bf16 of
/// [8,256,2,10000,2] with gaps over 0, 1 and 3 541 split, of [9,8,8192,6,22] transposed over 0 and 2 261. In a grid
/// columns that are far from each other wait for more: f32 [70307,197,3] with gaps over 1 and 2 1132, by blocks 475;
/// near ones do not, [4,20000,160,2] over 1 and 3 419.
inline constexpr double kShortRunsAlone = 0.35, kWorkBesideShortRuns = 0.8;
inline constexpr Index kFarColumnBytes = 1024;

/// Reductions of runs that are no whole packs, beside kKernelShare, by elements of a run. By blocks: sums of 33, 49,
/// 777 and 3025 f32 reach 0.77, 0.89, 0.90 and 0.96 of a stream, var, argmax and logsumexp 0.61, 0.73, - and 0.94; sums
/// of 33 and 49 bf16 0.68 and 0.82; var of 3025 0.90 (gpu.csv, and single runs in docs/performance.md).
inline constexpr StairRow kCutRuns[] = {{12, 0.50}, {20, 0.62}, {40, 0.81}, {100, 0.93}, {1000, 0.95}, {1e300, 1.0}};
inline constexpr StairRow kCutRunsTwice[] = {{12, 0.40},  {20, 0.47},   {40, 0.65},
                                             {100, 0.77}, {1000, 0.90}, {1e300, 0.99}};
inline constexpr double kHalfCutRuns = 0.90;
inline constexpr StairRow kHalfCutRunsTwice[] = {{40, 0.52}, {80, 0.55},  {110, 0.70},
                                                 {200, 0.5}, {1000, 0.8}, {1e300, 0.89}};
/// By lanes, as few as in_lanes.cpp gives a row, 128 MiB of runs of 9, 17, 33, 49, 65, 129 and 257: gpu-history.md.
inline constexpr StairRow kCutRunsOfLanes[] = {{20, 0.92}, {100, 0.95}, {1e300, 0.97}};
inline constexpr StairRow kCutRunsOfLanesTwice[] = {{12, 0.65}, {20, 0.70},  {40, 0.74},
                                                    {60, 0.76}, {100, 0.81}, {1e300, 0.85}};
inline constexpr StairRow kHalfCutRunsOfLanes[] = {{12, 0.76}, {60, 0.87}, {1e300, 0.89}};
inline constexpr StairRow kHalfCutRunsOfLanesTwice[] = {{12, 0.41},  {20, 0.45},  {60, 0.61},
                                                        {100, 0.65}, {200, 0.70}, {1e300, 0.78}};
/// And how much longer one block waits for such rows than for whole packs: logsumexp and max f32 of [3000,33,396] with
/// gaps, axes 0 and 2, by 33 blocks 270 and 196 us, where whole packs of as many bytes take some 120.
inline constexpr double kWaitForCutRunsTwice = 2.3, kWaitForCutRuns = 1.6;
/// And for columns of 16 bits that are looked at twice: logsumexp, var and argmax bf16 of [4096,16384] axis 0 take 52,
/// 49 and 55 us in a block a multiprocessor, 45, 43 and 44 in two.
inline constexpr double kWaitForHalfLooks = 1.2;

/// And those that look twice at runs of few 16-bit elements, by a run's bytes: logsumexp f16 of [9,1024,513,6,3] over
/// 0, 1, 2 and 4 takes 540 us in parts, 71 by columns first, [36450,127,16] over 0 and 2 92 and 52, by blocks 118.
inline constexpr StairRow kHalfShortRunsTwice[] = {{8, 0.14}, {40, 0.42}, {1e300, 1.0}};
/// Of whole packs, var and logsumexp bf16 by a run's bytes: [4096,16,64,8] over 1 and 3 0.85, [512,32,128,32] 0.76,
/// [64,256,64,64] 0.91 and 0.88, [64,512,2048] over 0 and 2 0.90 and 0.88. Powers of parts, [2048,64,512] 47 us
/// for 42.
inline constexpr StairRow kHalfLooksAtRuns[] = {{16, 0.66}, {64, 0.76}, {1e300, 0.89}};
inline constexpr double kHalfPowersOfPart = 0.86;
/// And states of lines, by a line's bytes: nearest axes of 32 to 2048 elements first.
inline constexpr StairRow kHalfStatesOfLines[] = {{128, 0.58},  {256, 0.64},  {512, 0.69},
                                                  {1024, 0.79}, {4096, 0.87}, {1e300, 1.0}};
inline constexpr double kHalfStatesOfCutLines = 0.7;  // logsumexp [64,512,3025] over 0 and 2 74 us, by blocks 54
/// Of cut lines in bundles, other folds: runs of 33 nearest first, sums f32 and bf16 89 and 57 us, logsumexp f32 101,
/// where a warp's lanes take 79, 47 and 94.
inline constexpr double kStatesOfBundles = 0.78, kHalfStatesOfBundles = 0.70, kLooksOfBundles = 0.73;
/// And of lines that registers keep, by a line's bytes: of 65 f32 81 and 87 us, by runs 71 and 83, of 100 68 and 72, 64
/// and 74, sums of 100 bf16 80 and 72.
inline constexpr StairRow kStatesOfCutLines[] = {{300, 0.86}, {1e300, 0.96}};
/// Rows of columns along several axes, beside those along one: [31,3,1024,196] and [3,5,3000,384] f32 over axes 0 and
/// 2, sums 38 and 26 us, logsumexp 48 and 33, where the nearest axis first takes 26, 24, 30 and 29; of six axes of 16
/// and 64 over 0, 2 and 4 sums 0.81 of a stream, logsumexp 0.69, argmax 0.54.
inline constexpr double kColumnsOverAxes = 0.85, kLooksOverAxes = 0.7;

/// Softmaxes of rows of several runs that wait in shared memory, beside those in registers, where runs are no whole
/// packs or short: f32 [758,1024,31] over 0 and 2 and [9,1500,255,12] over 1 and 3 take 127 and 235 us in a block, 115
/// in a grid and 147 by columns first; f16 [136,5000,129] over 0 and 2 615 and 279, [2,196,513,225] over 1 and 3 292
/// and 126. But f32 [65,1500,244] over 0 and 2 72, in clusters 88, bf16 [384,2,3,2,10000] over 1 and 4 86 and 190.
inline constexpr double kRunsInShared = 0.55, kHalfRunsInShared = 0.32, kLongRunBytes = 64;
/// And by the grid: bf16 [2,33,131072,2,2] over 0, 2 and 4 1461 us, by columns first 108.
inline constexpr StairRow kShortRunsInGrid[] = {{8, 0.25}, {1e300, 1.0}};

/// A softmax in two launches: its fold, beside one that takes no powers, and where rows are runs. Of [16384,4096] axis
/// 0 the three passes reach 0.88 of what they could, of [128,256,2048] axes 0 and 2 0.86, of bf16 there 0.79.
inline constexpr double kFoldOfPowers = 0.85;
inline constexpr double kFoldInRuns = 0.80;
inline constexpr double kHalfFoldInRuns = 0.60;
/// And where runs are no whole packs: softmaxes f32 of [827,7,6,1023] over axes 0, 2, 3, of [100,17,10,2,1025] over 0,
/// 1, 4 and of [10,48,2,513,63] over 1, 3, 4 take 191, 203 and 164 us in two launches, 148, 147 and 122 by whole packs;
/// in a grid 147, 152 and 139.
inline constexpr double kFoldInCutRuns = 0.45;
/// By rows behind a state of a column: bf16 folds of 64 and 128 rows take 208 and 110 us of 170 MiB, of 300 and 1000 97
/// and 83 of 144 MiB; var f32 and bf16 of [64,200,128,33] over axes 1 and 3 by columns first 114 and 128 us of 51.
inline constexpr StairRow kStatesOfFewRows[] = {{32, 0.25}, {150, 0.4}, {250, 0.6}, {400, 0.75}, {1e300, 1.0}};
/// By elements of a tile, that besides: sums f32 of [131072,33,9] over axes 1 and 2, 297 a tile, take 1399 us, var of
/// [80,384,6,24,5] over 0 and 3, 400, 954, log_softmax of [6,20,63,1024,5] over 0, 1 and 4, 600, 1980.
inline constexpr StairRow kStatesOfSmallTiles[] = {{1 << 10, 0.15}, {1 << 11, 0.3}, {1e300, 1.0}};

/// A softmax of columns that are no whole packs, beside those that are, in one launch and in each of two: 0.38 and 0.46
/// of a copy instead of 0.74 and 0.82 in a block, 0.38 instead of 0.67 in a cluster, 0.55 instead of 0.58 (sweep.csv,
/// from 256 MiB on).
inline constexpr double kUnevenColumns = 0.54;
inline constexpr double kUnevenInCluster = 0.46;          // [4097,16384] axis 0 0.48 instead of 0.71
inline constexpr double kHalfUnevenRunsInCluster = 0.16;  // f16 [4,33,1500,48,5] over axes 2 and 4 295 us, 90 MiB
/// Of 16 bits besides: bf16 [1024,4095] and [600,4001] axis 0 58 and 37 us by blocks of 64 columns, 19 and 16 in two
/// launches; [2049,2049] and [600,4001] 29 and 27 by clusters, of rows of 2^15 [2048,32767] 408.
inline constexpr double kHalfUnevenInBlock = 0.45, kHalfUnevenInCluster = 0.66;
inline constexpr double kUnevenInGrid = 0.36;  // 0.17 instead of 0.46; of 8 MiB two launches are sooner
inline constexpr double kUnevenInTwo = 0.86;

/// The same where registers keep them, by bytes of a panel's row: lines that two blocks share. Of 8, 16, 32, 64, 128,
/// 256 and 512 rows 0.85, 0.89, 0.85, 0.71, 0.66, 0.65 and 0.46 of a copy; even ones 0.82 to 0.95 (sweep.csv).
inline constexpr StairRow kUnevenInRegisters[] = {{128, 0.50}, {256, 0.68}, {512, 0.70}, {1024, 0.80}, {1e300, 0.93}};

/// Of f32 with results of whole sectors, from rows of 4097 or 5001: [64,512,4096] and [64,197,5000] axis 1 0.91 and
/// 0.96 of a copy, far ones 0.83.
inline constexpr double kApartInRegisters = 0.96;

/// Where panels overlap so that each sector is written by one block, and where they are whole packs but cut sectors, by
/// bytes of a panel's row: 256 rows of odd length 0.90 of a copy, of whole sectors 0.91, of packs 0.80; of 512 rows
/// 0.63 and 0.85, of 64 rows 0.88 and 0.91 (an H100; docs/measurements/gpu-history.md).
inline constexpr StairRow kOverlappingPanels[] = {{256, 0.95}, {512, 0.96}, {1e300, 0.98}};
inline constexpr StairRow kCutSectors[] = {{128, 0.74}, {256, 0.88}, {512, 0.94}, {1e300, 0.97}};
inline constexpr double kHalfCutSectors = 0.84;  // of narrow tall panels: bf16 [1000,67112] 106 us, [1024,65536] 87

/// Between two launches the last blocks of the one end and the first of the other begin, by bytes of the elements:
/// softmaxes of [262144,3], [524288,3] and [8192,257] axis 0 took 23, 25 and 22 us in two launches, 15, 19 and 17 in
/// one. Before states are merged nothing: the sum of [4096,512,7,7] over batch and image takes 101 us by columns_first,
/// its bytes 95.
inline constexpr StairRow kBetweenLaunchesMicroseconds[] = {{3 << 20, 8}, {6 << 20, 10}, {1e300, 11}};
/// Where launches overlap, columns and their map: [262144,4], [524288,4] and [32768,128] axis 0 14, 17.5 and 23 us. A
/// map of few columns that are no whole packs begins slowly: [349525,3] 22, [63551,33] 25; bf16 [209715,5] 28,
/// [31775,33] 28.
inline constexpr StairRow kBeforeMapOfColumnsMicroseconds[] = {{3 << 20, 0}, {1e300, 1.5}};
inline constexpr double kMapOfFewUnevenMicroseconds = 7, kHalfMapOfFewUnevenMicroseconds = 15;
inline constexpr Index kFewUnevenBytes = 200;  // of a row

/// Clusters that all begin at once load together and store together: [4096,512], [16384,256] and [16384,255] axis 0
/// take 15, 33 and 50 us where those that take turns would take 12, 23 and 36.
inline constexpr double kClustersAtOnce = 0.72;

/// What a cluster and a grid take for columns beyond what their bytes do: to begin, to leave and to read states. Small
/// softmaxes of [2048,256] and [32768,16] axis 0 take 9.1 and 15.2 us; 6.3 and 7.2 by their bytes.
inline constexpr double kColumnsInClusterMicroseconds = 2.5;
/// In a grid by bytes, since launches overlap: [1024,64], [2048,64] and [1024,256] take 5.1, 5.4 and 5.6 us (6.2, 6.7
/// and 6.3 in a cluster), [1024,1024], [2048,256] and [2048,512] 8.6, 7.2 and 8.5 (8.1, 6.8 and 8.3).
/// Groups that have one tile meet at the grid's barrier: [16384,32] 7.1 us, [4096,256] 7.5, [8192,256] 10.2,
/// [16384,256] 19, [2048,2048] 17; others take turns: [256,8193] 13, [512,2049] 8.3.
inline constexpr StairRow kColumnsInGridMicroseconds[] = {{1 << 20, 1.2},  {3 << 20, 0.7}, {9 << 20, 1.2},
                                                          {20 << 20, 2.5}, {48 << 20, 5},  {1e300, 7}};
inline constexpr StairRow kColumnsInTurnsMicroseconds[] = {
    {1 << 20, 2}, {9 << 20, 3.5}, {24 << 20, 4}, {48 << 20, 4.5}, {1e300, 6}};
/// And of uneven rows: [512,2049] 8.3 us, [32768,65] 20, [8192,513] 27.
inline constexpr StairRow kUnevenInGridMicroseconds[] = {{6 << 20, 2.2}, {12 << 20, 2.5}, {24 << 20, 3.5}, {1e300, 0}};
/// Rows: softmaxes of [64,16384], [17,32768] and [8,65536] take 9.5, 7.6 and 7.3 us in a grid, 4.7, 4.0 and 4.1 in
/// clusters of eight, but [4,131072] 7.3 and 8.3 (H100). Groups that take lines in turns begin and end alone: [32,2^18]
/// takes 29 us, [64,2^18] 46, [128,2^18] 81, [256,2^18] 148 (H200).
inline constexpr StairRow kRowsInGridMicroseconds[] = {{6 << 20, 1}, {1e300, 0}};
inline constexpr StairRow kRowsInTurnsMicroseconds[] = {{100 << 20, 5}, {1e300, 3}};
/// Rows that are joined, in a grid; for each line that a group takes after its first, beside its bytes, by threads of a
/// block, or by all blocks where a line has no room beside the next; and what blocks read of each other's words:
/// [524288,2] f32 axis 0 10.3 us, [1048576,8] 31; [256,16384,8] and [512,8192,16] over axis 1 97 and 183,
/// [100,20000,12] 93, of bf16 73, 132 and 62; [64,20000,64] 459.
inline constexpr StairRow kJoinedInGridMicroseconds[] = {{9 << 20, 3.5}, {1e300, 2}};
inline constexpr StairRow kJoinedTurnMicroseconds[] = {{256, 1.6}, {512, 3}};
inline constexpr double kHalfJoinedTurn = 1.6, kJoinedAloneMicroseconds = 5, kWordBytesOfMicrosecond = 3e6;
/// Where columns are no whole packs, warps begin within lines of memory, and more so where lines pass the rings:
/// [67108864,2] f32 axis 0 404 us, [44739243,3] 431, for which two launches take 425.
inline constexpr double kUnevenJoined = 0.95, kUnevenPassing = 0.86;
/// The same for a reduction: graph nodes for [1,16384], [16,16384] and [2048,16] take 3.1, 3.9 and 4.2 us in clusters
/// of eight, one batch a lane, 4.1, 4.8 and 4.6 in a grid, 2.7, 3.7 and 3.5 in blocks, two batches a lane.
inline constexpr double kReductionInClusterMicroseconds = 0.5;
inline constexpr double kReductionInGridMicroseconds = 0.8;
/// A second launch that merges states, where launches overlap: with its loads 0.5 us less than to meet in a grid.
inline constexpr double kMergeMicroseconds = 1;

/// What is read again, beside two reads and a write: rows of 1 MiB; columns by blocks of a multiprocessor, of which
/// [4096,16384] axis 0 reaches 0.52 of a copy, [16384,4096], whose blocks are alone, 0.41.
inline constexpr double kRowsAgain = 0.90;
inline constexpr StairRow kColumnsAgain[] = {{1, 0.68}, {1e300, 0.87}};
inline constexpr double kColumnsAgainInGrid = 0.62;  // [262144,64] and [1048576,32] axis 0: 114 and 148 us

/// Columns of 16-bit elements beside those of f32, eight states a lane: [4096,16384] axis 0, read again; kept in shared
/// memory, [64,512,4096] and [64,1024,2048] axis 1 0.72 and 0.63 of a copy for 0.94 and 0.82.
inline constexpr double kHalfColumnsAgain = 0.70;
inline constexpr double kHalfColumns = 0.78;

/// Moves across axes: two of [4096,16384] and a softmax of its rows take 1100 us where a copy takes 129.
inline constexpr double kPermuteShare = 0.27;

/// Moves of runs that are no whole packs: bf16 [128,8192,81] over axes 0 and 2 480 us a move, 324 MiB.
inline constexpr double kMovesOfCutRuns = 0.35, kHalfMovesOfCutRuns = 0.18;

/// A load's time on a busy bus, by Little's law: 48 KiB in flight on each of 132 multiprocessors fill 4.52 TB/s,
/// docs/measurements/h200-facts.md#loads-in-flight.
inline constexpr double kLatencyNanoseconds = 1435;
/// And on a bus that idles, for reductions and columns (what moves, and rows of a softmax, were fitted without it): a
/// block's sum of 8, 16, 32 and 64 K elements, a batch of loads to eight, takes 2.2, 2.7, 3.4 and 6.3 us.
inline constexpr double kIdleLatencyNanoseconds = 700;

/// Copies that live in the L2 cache run at 5.2 to 5.8 TB/s of 4.27: docs/measurements/h200-facts.md#bandwidth.
inline constexpr double kCacheGain = 1.3;
/// Of columns of uneven rows that travel: softmaxes f32 of [600,1001], [600,8193] and [2047,2047] axis 0 take 6.9, 23.6
/// and 20.5 us.
inline constexpr double kCacheGainOfParts = 2.2;
inline constexpr double kCacheShare = 0.5;  // of the cache that is still there for a second read

/// Part of a last wave's idle time that other blocks cannot use; they speed up when fewer share the bus.
inline constexpr double kTailShare = 0.5;
/// Of blocks that ask for all of a line at once: 300 lines of 32 768 f32, of which 264 begin together, take 24.8 us,
/// 500 of them 35.3, 264 19.9; 64 of 128 256 bf16 in 512 blocks, of which 396 begin together, 13.1.
inline constexpr double kTailShareOfLines = 0.15;

/// Of the multiprocessors, so many fill the bus: 16 blocks take 10.9 us for a softmax of [1024,512] axis 0.
inline constexpr double kBusyShare = 0.8;

/// Elements a nanosecond of one core with 16 lanes, docs/measurements/host-panels.md: exponentials, the rest of a fold,
/// loads at a stride, moves across axes.
inline constexpr double kCoreExponentials = 4.8;
inline constexpr double kCoreFolds = 30;
inline constexpr double kCoreStrided = 0.8;
inline constexpr double kCoreStates = 0.1;
inline constexpr double kCoreLanes = 16;
/// To begin and end one row: 8 rows of 16 take some 110 ns, of which the elements are a third.
inline constexpr double kCoreRowNanoseconds = 10;
inline constexpr double kCoreCopyGigabytes = 50;
inline constexpr double kCoreReadGigabytes = 34;

}  // namespace ndfold
