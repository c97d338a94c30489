"""Copies of the kernels with one thing wrong each. Usage: mutate.py SOURCE_FOLDER OUTPUT_FOLDER
Writes OUTPUT_FOLDER/NAME/*.h and OUTPUT_FOLDER/mutants.cpp, whose table tests/simt/mutants_test.cpp runs."""
import pathlib
import sys

# Not copied.
SHARED = {"arguments.h", "bind.h", "catalog.h", "catalog_rows.h", "dialect.h", "elements.h", "kernel_in.h",
          "kernel_of.h", "layouts.h", "reduction_kernel.h", "softmax_kernel.h"}

# Name, file, what is there, what is put in its place, and the kernel that shows it.
MUTANTS = [
    ("whole", "rows.h", "", "", "all"),
    ("not_awaited", "rows.h", "  await_launch_before(walk.first(), walk.last());\n", "", "rows"),
    ("panel_not_awaited", "columns.h", "        await_launch_before(panel.in, panel.out, rows.end);\n", "", "softmax_columns"),
    ("asked_beyond", "column_batch.h", "if (row < rows.end) ask", "if (row < rows.end + rows.slots) ask", "kept"),
    ("run_end", "run_walk.h", "min_of(axis.size - at,", "min_of(axis.size - at + 1,", "runs"),
    ("part_end", "line_walk.h", "static_cast<std::uint64_t>(end + phase_ - 1)",
     "static_cast<std::uint64_t>(end + phase_)", "cluster"),
    ("part_begin", "line_walk.h", "static_cast<std::uint64_t>(begin + phase_)",
     "static_cast<std::uint64_t>(begin + phase_ - (begin > 0))", "cluster"),
    ("run_begin", "run_walk.h", "max_of(-at,", "max_of(-at - 1,", "runs"),
    ("last_pack", "line_walk.h", "static_cast<Index>(to / kPack) + 1", "static_cast<Index>(to / kPack)", "rows"),
    ("first_run", "run_walk.h", "first_run_ = run_of(begin);", "first_run_ = run_of(begin) + 1;", "runs"),
    ("last_of_lane", "row_batch.h", "static_cast<Index>(u) * lanes < last;", "static_cast<Index>(u) * lanes < last - 1;",
     "rows"),
    ("whole_batches", "row_batch.h", "+ stride <= last; pack += stride)\n    fold_packs<", "+ stride < last + stride; pack += stride)\n    fold_packs<",
     "batches"),
    ("last_end", "row_batch.h", "end < 2;", "end < 1;", "softmax"),
    ("last_lane", "row_batch.h", "lane == lanes - 1) && line.cuts(end)", "lane == lanes) && line.cuts(end)", "rows"),
    ("last_of_runs", "row_batch.h", "count += pack + u * lanes < last;", "count += pack + u * lanes < last - 1;", "bundle"),
    ("next_run", "run_walk.h", "at.pack >= static_cast<int>", "at.pack > static_cast<int>", "bundle"),
    ("next_digit", "odometer.h", "at.digits[i] >= size", "at.digits[i] > size", "bundle"),
    ("absent_elements", "batch.h", "!kAll && !view.has(group)", "!kAll && group > 0 && !view.has(group)", "maximum"),
    ("pack_end", "pack.h", "if (i >= low && i < high) pack", "if (i >= low && i <= high) pack", "rows"),
    ("store_end", "pack.h", "if (i >= low && i < high) to", "if (i >= low && i <= high) to", "softmax"),
    ("tree_merge", "tree.h", "Exact<F> || merges_ == 0)", "Exact<F> || merges_ < 2)", "deep"),
    ("tree_level", "tree.h", "if (carried_ % kWay != 0)", "if (carried_ % kWay == 0)", "deepest"),
    ("warps", "combine_rows.h", "lane < warps ?", "lane <= warps ?", "rows"),
    ("half_the_lanes", "combine_rows.h", "mask < to;", "mask < to / 2;", "rows"),
    ("cluster_blocks", "combine_rows.h", "lane < blocks ?", "lane < blocks - 1 ?", "cluster"),
    ("waiting_room", "waiting.h", "held_ = packs <= capacity_", "held_ = packs <= capacity_ + 9000", "softmax"),
    ("last_asked", "waiting.h", "asked < end;", "asked < end - 1;", "softmax_columns"),
    ("early_row", "row_waiting.h", "    waiting.await_group(group);\n", "", "grid"),
    ("early_panel", "column_waiting.h", "    waiting.await_group(group);\n", "", "softmax_columns"),
    ("rows_of_slot", "column_batch.h", "rows - slot + slots - 1)", "rows - slot + slots)", "softmax_columns"),
    ("one_slot", "meeting.h", "turn % 2", "0 * turn", "grid"),
    ("late_release", "meeting.h", "      add_release(counter);\n", "", "grid"),
    ("early_leave", "meeting.h", "- wanted) < 0", "- wanted) < -1", "grid"),
    ("stale_counter", "meeting.h", "*counter = 0;", "(void)counter;", "grid"),
    ("panel_end", "column_batch.h", "at + c * panel.pitch < end;", "at + c * panel.pitch <= end;", "odd_columns"),
    ("bundle_rows", "bundle_folds.h", "const bool live = row < rows;\n    const auto* from = bundle.first(row);",
     "const bool live = row < rows - 1;\n    const auto* from = bundle.first(row);", "bundles"),
    ("bundle_end", "ring.h", "i = begin + thread_of_block(); i < end;", "i = begin + thread_of_block(); i < end - 1;", "bundles"),
    ("bundle_spacing", "bundle_walk.h", "(warp & (spacing - 1))", "0 * (warp & (spacing - 1))", "spaced_bundles"),
    ("bundle_lanes", "bundle_folds.h", "bundle.left(0) > common}", "false}", "spaced_bundles"),
    ("bundle_rest", "bundle_looks.h", "    take_rest<kMost / 2>(at, n, visit);\n", "", "uneven_bundles"),
    ("few_rows", "few_rows.h", "row < step_.reduced) fold_some", "row + 1 < step_.reduced) fold_some", "few_rows"),
    ("few_more", "few_rows.h", "fold_from<true>(kRows);", "fold_from<true>(kRows + 1);", "moments_few_half"),
    ("few_end", "few_rows.h", "&& last < columns_.left;\n      has", "&& last <= columns_.left;\n      has", "few_rows"),
    ("few_cut", "few_rows.h", "high += first + c * apart_ < columns_.left;", "high += first + c * apart_ <= columns_.left;", "few_rows"),
    ("kept_rows", "kept.h", "numbers_[k][c] = k < count ?", "numbers_[k][c] = k < count - 1 ?", "kept"),
    ("kept_missing", "kept.h", "scale < 0 ? folds::kInfinity<A> : A(0)", "A(0)", "kept_half"),
    ("kept_counted", "kept.h", "static_cast<A>(kKept - count_)", "static_cast<A>(kKept - count_ - 1)", "kept_even_half"),
    ("kept_turned", "kept.h", "scale_ < 0 ? extreme_of", "scale_ > 0 ? extreme_of", "kept_half"),
    ("kept_last", "column_registers.h", "(places.slot >= last)", "(places.slot > last)", "kept"),
    ("kept_end", "column_registers.h", "column < panel_.high ?", "column <= panel_.high ?", "kept"),
    ("kept_meetings", "column_registers.h", "shared_memory() + half *", "shared_memory() + 0 * half *", "kept"),
    ("kept_places", "column_registers.h", "row < step.reduced;", "row < step.reduced - 1;", "kept_axes"),
    ("last_row", "columns.h", ": step.reduced;", ": step.reduced - 1;", "columns"),
    ("row_end", "column_batch.h", "rows.slots < left;\n  fold", "rows.slots <= left;\n  fold", "columns"),
    ("whole_rows", "column_batch.h", "left > 0 : left >= stride;", "left > 0 : left > 0;",
     "columns"),
    ("slots", "combine_columns.h", "int slots = lanes.slots();", "int slots = lanes.slots() - 1;", "softmax_columns"),
    ("tile_width", "permute.h", "if (x < columns && y < rows) tile", "if (x <= columns && y < rows) tile", "permute"),
    ("tile_height", "permute.h", "if (x < columns && y < rows) out", "if (x < columns && y <= rows) out", "permute"),
    ("odometer", "odometer.h", "linear - rest * first.size", "linear - rest", "bundle"),
    ("far_odometer", "odometer.h", "const Index at = linear - rest * axis.size", "const Index at = linear - rest", "far"),
    ("map_end", "elementwise.h", "if (c < high) to[", "if (c < high - 1) to[", "joined_elementwise"),
    ("mapped_rows", "elementwise.h", "min_of(begin + height,", "min_of(begin + height - 1,", "elementwise"),
    ("mapped_end", "elementwise.h", "outer >= step.reduced || row >= end", "outer >= step.reduced || row >= end - 1", "elementwise"),
    ("mapped_phase", "elementwise.h", "phase_of<kSize>(from);", "phase_of<kSize>(from + 1);", "elementwise"),
    ("mapped_tail", "elementwise.h", "? step.tail : axis.size", "? step.tail - 1 : axis.size", "joined_elementwise"),
    ("powers_count", "column_powers.h", "kAll || r < count) sum", "kAll || r < count + 1) sum", "powers_of_columns"),
    ("powers_begin", "column_powers.h", "origins_[c] = PowersOfColumn::origin_of(from[c]);", "", "powers_of_columns"),
    ("powers_carried", "column_powers.h", "before += columns_[c].sum;", "before = columns_[c].sum;", "powers_of_columns"),
    ("moments_count", "column_moments.h", "!kAll && r >= count)", "!kAll && r > count)", "moments_few_half"),
    ("moments_first", "column_moments.h", "    near_.begin(fold_);\n", "", "moments_half"),
    ("moments_merged", "column_moments.h", "if (merges_ == 0) return last;", "if (merges_ < 2) return last;",
     "moments_half"),
    ("moments_carried", "column_moments.h", "far_.carry(whole);", "", "moments_half"),
    ("across_before", "load_across.h", "at > step.reach_from", "at >= step.reach_from", "anywhere_half"),
    ("across_behind", "load_across.h", "at + Source::kSize <= step.reach_to", "at <= step.reach_to", "anywhere_half"),
    ("across_odd", "load_across.h", "from - within / kBytes", "from", "anywhere_half"),
    ("across_inner", "column_batch.h", "column + kSize < step.lane_axis.size;", "column < step.lane_axis.size;",
     "anywhere_half"),
    ("alone", "columns.h", "lanes.rows() == 1 && !scope", "lanes.rows() < 9 && !scope", "anywhere_half"),
    ("last_mapped", "elementwise.h", "i * packs.step, kSize)) : 0", "i * packs.step, kSize - 1)) : 0", "elementwise"),
    ("joined_first", "joined_rows.h", "rows.lane < line.first_whole()", "rows.lane <= line.first_whole()", "joined"),
    ("joined_last", "joined_rows.h", "last = line.last_whole();", "last = line.last();", "joined"),
    ("joined_cut", "joined_rows.h", "c >= place.low && c < place.high", "c > place.low && c < place.high", "joined"),
    ("joined_phase", "joined_rows.h", "lane * Source::kSize - phase)", "lane * Source::kSize + phase)", "joined"),
    ("shifted_first", "shifted_columns.h", "if (first == 0) fold_end(0);", "", "shifted"),
    ("shifted_last", "shifted_columns.h", "if (inner.end > last) inner.end = last;", "", "shifted"),
    ("shifted_start", "shifted_columns.h", "within(start - panel.column)", "within(start - panel.column - 1)", "shifted"),
    ("line_packs", "lines_together.h", "return at(u) < packs;", "return at(u) < packs - 1;", "whole_lines"),
    ("line_nothing", "lines_together.h", "  if (!mine.has_some())\n", "  if (mine.lane < 0)\n", "whole_short"),
    ("line_next", "lines_together.h", "lane < kShare && results.has_next(at)", "lane < kShare", "whole_short"),
    ("line_kept", "lines_together.h", "kept = odd ? some[2 * l + 1] : some[2 * l],", "kept = some[2 * l],", "whole_short"),
    ("line_told", "lines_together.h", "(first + l % kShare)", "(first)", "whole_best"),
    ("line_place", "lines_together.h", "turn * (first + i)", "turn * (first - i)", "whole_best"),
    ("line_elsewhere", "whole_lines.h", "sum[l] += mine.has(u) ? of_pack : A(0);", "sum[l] += of_pack;", "whole_softmax"),
    ("line_counted", "kept.h", "sum += k < count_ ?", "sum += k <= count_ ?", "whole_kept_half"),
    ("line_turned", "kept.h", "words_[k].at[i] ^= 0x80008000u;", "words_[k].at[i] ^= 0x8000u;", "whole_kept_half"),
    ("beyond_last", "packs_beyond.h", "pack < packs_;", "pack < packs_ - 1;", "whole_long"),
    ("beyond_await", "packs_beyond.h", "await_copies<0>();", "await_copies<1>();", "whole_long"),
    ("beyond_turned", "packs_beyond.h", "if (turned)", "if (!turned)", "whole_long"),
    ("beyond_places", "packs_beyond.h", "+ thread_of_block()", "+ thread_of_block() / 2", "whole_long"),
    ("long_before", "long_lines.h", "lane < before ?", "lane < before - 1 ?", "whole_long"),
    ("long_after", "long_lines.h", "lane >= lanes - after ?", "lane > lanes - after ?", "whole_long"),
    ("long_place", "long_lines.h", "size - before - lanes + lane", "size - before - lanes + lane - 1", "whole_long"),
    ("places_lane", "whole_lines.h", "in_ = in + scope.lane();", "in_ = in;", "whole_places"),
    ("places_load", "whole_lines.h", "lane = i - u * near_;", "lane = i;", "whole_places"),
    ("table_run", "whole_runs.h", "const bool carry = pack_ >= of_run_;", "const bool carry = pack_ > of_run_;", "whole_runs"),
    ("table_last", "whole_runs.h", "there += pack + u * lanes_ < last;", "there += pack + u * lanes_ < last - 1;",
     "whole_runs"),
    ("table_next", "whole_runs.h", "run_ = run_of(pack) - table.first();", "run_ = run_of(pack);", "whole_runs"),
    ("cut_first", "cut_lines.h", "is_first && phase != 0 ? -phase", "is_first && phase != 0 ? size_", "cut_lines"),
    ("cut_last", "cut_lines.h", "batch.count += lane + u * lanes < packs;", "batch.count += lane + u * lanes < packs - 1;", "cut_lines"),
    ("cut_edge", "cut_lines.h", "if (line.is_at_edge(i)) state", "state", "cut_lines"),
    ("cut_outer", "cut_lines.h", "base.in < step.inside_from || base.in > step.inside_to;", "false;", "cut_softmax"),
    ("cut_runs_low", "cut_runs.h", "low = place.number - phase;", "low = place.number;", "cut_runs"),
    ("cut_runs_none", "cut_runs.h", "i < count_ ? number : none", "i <= count_ ? number : none", "cut_runs"),
    ("cut_runs_outer", "cut_runs.h", "base.in < step.inside_from || base.in > step.inside_to;", "false;", "cut_runs"),
    ("cut_runs_whole", "cut_runs.h", "low_[u] + kSize <= size_;", "low_[u] < size_;", "cut_runs"),
    ("folded_low", "fold_cut_runs.h", "of_run * kSize - this->place_of(begin)}", "of_run * kSize}", "cut_fold"),
    ("folded_first", "fold_cut_runs.h", "place.pack < first_ ? first_ : place.pack > last_", "place.pack > last_", "cut_fold"),
    ("folded_last", "fold_cut_runs.h", "place.pack > last_ ? last_ : place.pack;", "place.pack;", "cut_fold"),
    ("folded_ends", "fold_cut_runs.h", "pack == 0 ? 0 : pack + within_;", "pack;", "cut_lists"),
    ("folded_within", "fold_cut_runs.h", "this->pack_of(begin) + pack + 1;", "this->pack_of(begin) + pack;", "cut_lists"),
    ("folded_next", "fold_cut_runs.h", "return {before.end, before.end + ", "return {before.begin, before.end + ",
     "cut_lists"),
    ("folded_end", "fold_cut_runs.h", "min_of(begin + list.part, all))", "min_of(begin + list.part, all - 1))", "cut_fold"),
    ("folded_size", "fold_cut_runs.h", "kSize) < static_cast<unsigned>(size);", "kSize) <= static_cast<unsigned>(size);",
     "cut_fold"),
    ("travel_count", "travelling_tiles.h", "(end - from - 1) / unsigned{kHop}) + 1", "(end - from - 1) / unsigned{kHop})",
     "travelling"),
    ("travel_skew", "travelling_tiles.h", "first = static_cast<Index>(from) * kSize - place.extra;",
     "first = static_cast<Index>(from) * kSize - place.extra / 2;", "travelling"),
    ("travel_before", "travelling_tiles.h", "from < first_pack(place) ? from + kThreads : from", "from < first_pack(place) ? from + 0 : from", "travelling"),
    ("travel_end", "travelling_tiles.h", "return (place.extra + elements_) / kSize;", "return (place.extra / 64 + elements_) / kSize;",
     "travelling"),
    ("travel_cut", "travelling_tiles.h", "return (place.extra + elements_) / kSize;",
     "return (place.extra + elements_ + kSize - 1) / kSize;", "travelling"),
    ("travel_head", "travelling_tiles.h", "lane < first_pack(place) * kSize - place.extra};", "lane < first_pack(place) * kSize - place.extra - 1};", "travelling"),
    ("travel_tail", "travelling_tiles.h", "&& tail < elements_};", "&& tail < elements_ - 1};", "travelling"),
    ("travel_waiting", "travelling.h", "if (lag_ > 0) end = ends_.waiting;", "", "travelling"),
    ("travel_folded", "travelling.h", "if (lag_ > 0) end = ends_.waiting;", "end = ends_.waiting;",
     "travelling_slowly"),
    ("travel_run", "travelling_tiles.h", "within = pack - run * of_run;", "within = pack - run;", "travelling_runs"),
    ("travel_part", "travelling_tiles.h", "(left < part ? left : part)) / kSize", "(left < part ? part : left)) / kSize",
     "travelling_runs"),
    ("travel_found", "travelling_tiles.h", "find(tiles, turn + 2 * kAtOnce + lane)", "find(tiles, turn + 3 * kAtOnce + lane)", "travelling"),
    ("travel_later", "travelling.h", "await_but(later - batch);", "await_but(later - batch + 2);", "travelling"),
    ("travel_late", "travelling.h", "await_but(later - batch);", "await_but(later - batch + 1);", "travelling_slowly"),
    ("travel_next", "travelling.h", "++asked_ == batches_.count", "++asked_ == batches_.count + 1", "travelling_slowly"),
    ("travel_lag", "travelling.h", "2 * batches_.count < ring_.places()", "2 * batches_.count <= 2 * ring_.places()", "travelling_slowly"),
    ("travel_again", "travelling.h", "batches_.count + again_ - 1 - asked_", "asked_ - batches_.count", "travelling_past"),
    ("travel_stay", "travelling.h", "again_ + nth", "nth", "travelling_past"),
    ("travel_passing", "travelling.h", "if (again_ > 0) map_place_ = fold_place_;", "", "travelling_past"),
    ("travel_after", "travelling.h", "if (again_ > 0) fold_place_ = map_place_;", "", "travelling_past"),
    ("travel_returned", "travelling.h", "if (nth >= stay) await_but(ring_.places() - 1);", "", "travelling_past"),
    ("travel_passed", "travelling.h", "batch <= again_ ? ring_.places() - 1", "batch <= again_ ? ring_.places()", "travelling_past"),
    ("travel_last", "travelling.h", ": batches_.count - 1 - batch);", ": ring_.places() - 1);", "travelling_past"),
    ("travel_measured", "travelling.h", "shrink(max, larger)", "shrink(larger, max)", "travelling_past"),
    ("travel_unread", "travelling_states.h", "is_there(words.at[t][i], marked);", "words.at[t][i] + marked != 7;", "travelling"),
    ("travel_parts", "travelling_states.h", "if (part + i * kHop < parts_) visit(i);", "if (part + i * kHop < parts_ - 1) visit(i);",
     "travelling"),
    ("travel_warps", "travelling_states.h", "lane_of_warp() < kWarps;", "lane_of_warp() < kWarps - 1;", "travelling"),
    ("travel_states", "travelling_states.h", "of_tile() + (kIsRow ? 1 : 2) * kColumns;", "of_tile();", "travelling"),
    ("travel_panel", "travelling_tiles.h", "lane < place.extra ? count_ : 0", "lane <= place.extra ? count_ : 0",
     "travelling_columns"),
    ("travel_slots", "travelling_tiles.h", "left < part ? left : part, slot()", "left <= part ? left - 1 : part, slot()",
     "travelling_columns"),
    ("travel_combined", "travelling_states.h", "warp() * kOfWarp + lane_of_warp() / kWarps",
     "warp() * kOfWarp + lane_of_warp() / (2 * kWarps)", "travelling_columns"),
    ("travel_reader", "travelling_states.h", "kIsRow ? lane_of_warp() : warp();", "kIsRow ? lane_of_warp() : 0;",
     "travelling_columns"),
    ("travel_mail", "words.h", "static_cast<int>(blockIdx.x) * kColumns", "static_cast<int>(blockIdx.x) * (kColumns - 1)",
     "travelling_columns"),
    ("apart_before", "travelling_apart.h", "near > 0 && ", "", "travelling_apart"),
    ("apart_gap", "travelling_apart.h", "+ 1 == from;", "+ 1 >= from;", "travelling_apart"),
    ("apart_next", "travelling_apart.h", "near + 1 < kWarp && ", "", "travelling_apart"),
    ("apart_stop", "travelling_apart.h", "to < stop", "to != nullptr", "travelling_apart"),
    ("apart_most", "travelling_apart.h", "a < b ? b : a;", "a < b ? a : b;", "travelling_apart"),
    ("apart_end", "shifted_stores.h", "followed ? kSize - shift : kSize", "kSize - shift", "travelling_apart"),
    ("joined_head", "travelling_joined.h", "return {before, kAll & kAll << -before};", "return {};", "travelling_joined"),
    ("joined_tail", "travelling_joined.h", "return {after, ~(~0u << (elements_ - after))};", "return {};", "travelling_joined"),
    ("joined_before", "travelling_joined.h", "from < first_pack(place) ? from + lanes_ : from", "from < first_pack(place) ? from + 0 : from", "travelling_joined"),
    ("joined_idle", "travelling_joined.h", "lane < lanes_ && end > from", "lane >= 0 && end > from", "travelling_joined"),
    ("joined_span", "joined_states.h", "u * hop < span_ ?", "u * hop < span_ - columns_ ?", "travelling_joined"),
    ("joined_parts", "joined_states.h", "of_group_.each() < parts_;", "of_group_.each() < parts_ - 1;", "travelling_joined"),
    ("joined_unread", "joined_states.h", "is_there(words.at[u], marked)", "words.at[u] + marked != 7", "travelling_joined"),
    ("joined_next", "joined_states.h", "column + 1 == columns_ ? 0 : column + 1;", "column + 1;", "travelling_joined"),
    ("joined_turns", "joined_states.h", "turn % kTurnsOfWords)", "0 * turn)", "travelling_joined"),
    ("travel_overlap", "travelling_sectors.h", "packs.at < kWidth + kSector - 1", "packs.at < kWidth", "travelling_sectors"),
    ("travel_sector", "travelling_sectors.h", "packs.at < kWidth + from", "packs.at < kWidth", "travelling_sectors"),
    ("travel_place", "travelling_sectors.h", "at + c + kSize * kAcross", "0", "travelling_sectors"),
    ("travel_alike", "travelling_sectors.h", "kOfWarp * (warp / kSize)", "kOfWarp * (warp % kSize)", "travelling_sectors"),
    ("travel_inside", "travelling_sectors.h", "last <= base + step_.reach_to", "last != nullptr", "travelling_sectors"),
    ("sectors_overlap", "sector_lane.h", "at < width_ + kSector - 1", "at < width_", "sectors"),
    ("sectors_begin", "sector_lane.h", "behind_start_ >= from", "behind_start_ > from", "sectors"),
    ("sectors_end", "sector_lane.h", "behind_end_ < from", "behind_end_ < 0", "sectors"),
    ("sectors_place", "column_sectors.h", "kSize - 1 - mine_.skew + c", "kSize - 1 + c", "sectors"),
    ("sectors_row", "sector_lane.h", "before < 0 ? static_cast<int>(-before) : 0", "0", "sectors"),
    ("sectors_reach", "sector_lane.h", "hop + kSize - 1 <= step.reach_to", "hop + kSize - 2 <= step.reach_to", "sectors"),
    ("sectors_halves", "column_sectors.h", "half * slots_ * of_slot", "0 * half * slots_ * of_slot", "sectors"),
    ("tall_slots", "tall_sectors.h", "slot += each)", "slot += 2 * each)", "tall_sectors"),
    ("tall_place", "tall_sectors.h", "(step, lane.at, waiting)", "(step, lane.at + lane.skew, waiting)", "tall_sectors"),
    ("tall_own", "tall_sectors.h", "thread_of_block() >> step_.lane_bits) * pitch()", "0) * pitch()", "tall_sectors"),
    ("tall_wanted", "tall_sectors.h", "? kBefore - 1 : 0", "? 0 : 0", "tall_sectors"),
    ("tall_beyond", "tall_columns.h", "row < count_; ++row", "row + 1 < count_; ++row", "tall_sectors"),
    ("tall_hop", "tall_columns.h", "at_ = moved(at_, apart_);", "at_ = moved(at_, 2 * apart_);", "tall_sectors"),
    ("across_words", "load_across.h", "from = moved(from, kTogether * bytes)", "from = moved(from, bytes)", "across_sectors"),
    ("across_reach", "sector_lane.h", "kSize - 1 + kAround <= step.reach_to", "0 <= step.reach_to", "across_sectors"),
    ("across_ask", "tall_sectors.h", "copy_later(&place->at[c], at + c);\n  }\n", "copy_later(&place->at[c], at);\n  }\n",
     "across_sectors"),
    ("words_turns", "words.h", "turn % kTurnsOfWords)", "0 * turn)", "travelling"),
    ("words_odd", "words.h", "turn / kTurnsOfWords % 2 == 0", "turn >= 0", "travelling"),
    ("joined_meeting", "column_sharers.h", "(rows - first + each - 1)", "(rows - first + each - 2)", "joined"),
    ("shifted_meeting", "column_sharers.h", "(rows - first + each - 1)", "(rows - first + each - 2)", "shifted"),
]

PLAIN = "ResultSink, ReadAgain, Tuning>"

# What each kind of case needs: the kernels, and where they are.
KERNELS = {
    "runs": ("rows.h", "rows<Elements<float, float, 4>, folds::Sum<float>, NearScope, " + PLAIN),
    "deep": ("rows.h", "rows<InLine<Elements<float, float, 4>>, folds::Sum<float>, NearScope, " + PLAIN),
    "deepest": ("rows.h", "rows<InLine<Elements<float, float, 4>>, folds::Sum<float>, NearScope, " + PLAIN),
    "batches": ("rows.h", "rows<InLine<Elements<float, float, 4>>, folds::Sum<float>, NearScope, " + PLAIN),
    "bundle": ("rows.h", "rows<Elements<float, float, 4>, folds::Sum<float>, NearScope, " + PLAIN),
    "far": ("rows.h", "rows<Elements<float, float, 4>, folds::Sum<float>, NearScope, " + PLAIN),
    "rows": ("rows.h", "rows<InLine<Elements<float, float, 4>>, folds::Sum<float>, NearScope, " + PLAIN),
    "maximum": ("rows.h", "rows<InLine<Elements<float, float, 4>>, folds::Max<float>, NearScope, " + PLAIN),
    "cluster": ("rows.h", "rows<InLine<Elements<float, float, 4>>, folds::Sum<float>, NearScope, " + PLAIN),
    "softmax": ("rows.h", "rows<InLine<Elements<float, float, 4>>, Softmax<float>, NearScope, "
                          "ElementSink<float>, InShared, Tuning>"),
    "grid": ("rows.h", "rows<InLine<Elements<float, float, 4>>, Softmax<float>, GridScope, "
                       "ElementSink<float>, "
                       "InShared, Tuning>"),
    "columns": ("columns.h", "columns<InLine<Elements<float, float, 4>>, folds::Sum<float>, NearScope, ResultSink, "
                             "ReadAgain, "
                             "Tuning>"),
    "softmax_columns": ("columns.h", "columns<InLine<Elements<float, float, 4>>, Softmax<float>, NearScope, "
                                     "ElementSink<float>, InShared, Tuning>"),
    "kept": ("column_registers.h", "columns_in_registers<Elements<float, float, 4>, Softmax<float>, ElementSink<float>, "
                                  "Tuning>"),
    "kept_half": ("column_registers.h", "columns_in_registers<Elements<BFloat16, float, 8>, Softmax<float>, "
                                       "ElementSink<BFloat16>, simt::TravellingTuning>"),
    "kept_even_half": ("column_registers.h", "columns_in_registers<Elements<BFloat16, float, 8>, Softmax<float>, "
                                       "ElementSink<BFloat16>, simt::TravellingTuning>"),
    "kept_axes": ("column_registers.h", "columns_in_registers<Elements<float, float, 4>, Softmax<float>, ElementSink<float>, "
                                  "Tuning>"),
    "sectors": ("column_sectors.h", "columns_by_sectors<Elements<float, float, 2>, Softmax<float>, "
                                    "ElementSink<float>, simt::KeptTuning>"),
    "tall_sectors": ("tall_sectors.h", "tall_sectors<InLine<Elements<float, float, 4>>, Softmax<float>, "
                                       "ElementSink<float>, OneBlock, simt::TallTuning>"),
    "across_sectors": ("tall_sectors.h", "tall_sectors<InLine<Elements<float, float, 4>>, Softmax<float>, "
                                         "ElementSink<float>, OneBlock, simt::TallTuning>"),
    "shifted": ("shifted_columns.h", "shifted_columns<InLine<Elements<float, float, 4>>, folds::Sum<float>, NearScope, Tuning>"),
    "odd_columns": ("columns.h", "columns<Elements<float, float, 4>, folds::Sum<float>, NearScope, " + PLAIN),
    "bundles": ("bundles.h", "bundles<InLine<Elements<float, float, 4>>, InLine<Elements<float, float, 1>>, "
                             "folds::Sum<float>, ResultSink, Tuning>"),
    "spaced_bundles": ("bundles.h", "bundles<InLine<Elements<float, float, 4>>, InLine<Elements<float, float, 1>>, "
                                    "folds::Sum<float>, ResultSink, Tuning>"),
    "uneven_bundles": ("bundles.h", "bundles<InLine<Elements<float, float, 4>>, InLine<Elements<float, float, 1>>, "
                                    "folds::Sum<float>, ResultSink, Tuning>"),
    "whole_lines": ("whole_lines.h", "whole_lines<InLine<Elements<float, float, 4>>, folds::Sum<float>, ResultSink, "
                                     "1, Tuned<1024, 8>>"),
    "whole_short": ("whole_lines.h", "whole_lines<InLine<Elements<float, float, 4>>, folds::Sum<float>, ResultSink, "
                                     "8, Tuned<1024, 8>>"),
    "whole_best": ("whole_lines.h", "whole_lines<InLine<Elements<float, float, 4>>, folds::ArgMax<float>, ResultSink, "
                                    "8, Tuned<1024, 8>>"),
    "whole_softmax": ("whole_lines.h", "whole_lines<InLine<Elements<float, float, 4>>, Softmax<float>, "
                                       "MapSink<float, MapKind::softmax>, 1, Tuning>"),
    "whole_kept_half": ("whole_lines.h", "whole_lines<InLine<Elements<BFloat16, float, 8>>, Softmax<float>, "
                                         "MapSink<BFloat16, MapKind::softmax>, 1, Tuned<1024, 8>>"),
    "whole_long": ("long_lines.h", "long_lines<InLine<Elements<float, float, 4>>, Softmax<float>, "
                                   "MapSink<float, MapKind::softmax>, true, Tuned<512, 7>>"),
    "whole_places": ("whole_lines.h", "whole_lines<Elements<float, float, 4>, Softmax<float>, "
                                      "MapSink<float, MapKind::softmax>, 1, Tuning>"),
    "whole_runs": ("whole_runs.h", "whole_runs<Elements<float, float, 4>, folds::Sum<float>, Tuning>"),
    "cut_lines": ("cut_lines.h", "cut_lines<InLine<Elements<float, float, 4>>, folds::Sum<float>, ResultSink, "
                               "Tuned<1024, 8>>"),
    "cut_softmax": ("cut_lines.h", "cut_lines<InLine<Elements<float, float, 4>>, Softmax<float>, "
                                   "MapSink<float, MapKind::softmax>, Tuned<1024, 8>>"),
    "cut_runs": ("cut_runs.h", "cut_runs<Elements<float, float, 4>, Softmax<float>, MapSink<float, MapKind::softmax>, "
                               "Tuned<1024, 8>>"),
    "cut_fold": ("fold_cut_runs.h", "fold_cut_runs<Elements<float, float, 4>, folds::Sum<float>, Tuning>"),
    "cut_lists": ("fold_cut_runs.h", "fold_cut_runs<Elements<float, float, 4>, folds::Variance<float>, Tuning>"),
    "few_rows": ("few_rows.h", "few_rows<InLine<Elements<float, float, 4>>, folds::Sum<float>, Tuning>"),
    "joined": ("joined_rows.h", "joined_rows<InLine<Elements<float, float, 4>>, folds::Sum<float>, NearScope, Tuning>"),
    "travelling": ("travelling.h", "travelling<InLine<Elements<float, float, 4>>, Softmax<float>, ElementSink<float>, "
                                   "TravellingRows, simt::TravellingTuning>"),
    "travelling_apart": ("travelling.h", "travelling<InLine<Elements<float, float, 4>>, Softmax<float>, ElementSink<float>, "
                                         "TravellingRowsApart, simt::TravellingTuning>"),
    "travelling_slowly": ("travelling.h", "travelling<InLine<Elements<float, float, 4>>, Softmax<float>, ElementSink<float>, "
                                          "TravellingRows, simt::TravellingTuning>"),
    "travelling_past": ("travelling.h", "travelling<InLine<Elements<float, float, 4>>, Softmax<float>, ElementSink<float>, "
                                        "TravellingRows, simt::TravellingTuning>"),
    "travelling_runs": ("travelling.h", "travelling<Elements<float, float, 4>, Softmax<float>, ElementSink<float>, "
                                        "TravellingRuns, simt::TravellingTuning>"),
    "travelling_columns": ("travelling.h", "travelling<InLine<Elements<float, float, 4>>, Softmax<float>, "
                                           "ElementSink<float>, TravellingColumns, simt::TravellingTuning>"),
    "travelling_joined": ("travelling.h", "travelling<InLine<Elements<float, float, 4>>, Softmax<float>, "
                          "ElementSink<float>, TravellingJoined, simt::TravellingTuning>"),
    "travelling_sectors": ("travelling.h", "travelling<InLine<Elements<float, float, 4>>, Softmax<float>, "
                                           "ElementSink<float>, TravellingSectors, simt::TravellingTuning>"),
    "permute": ("permute.h", "permute_tiles<std::uint32_t, Tuning>"),
    "elementwise": ("elementwise.h", "elementwise<Elements<float, float, 4>, float, Tuning>"),
    "joined_elementwise": ("elementwise.h", "elementwise<Elements<float, float, 4>, float, Tuning>"),
    "moments_half": ("columns.h", "columns<InLine<Elements<Half, float, 8>>, Variance<float>, NearScope, " + PLAIN),
    "anywhere_half": ("columns.h", "columns<InLine<Across<Elements<Half, float, 8>>>, Variance<float>, NearScope, " + PLAIN),
    "moments_few_half": ("few_rows.h", "few_rows<InLine<Elements<Half, float, 8>>, Variance<float>, Tuning>"),
    "powers_of_columns": ("columns.h", "columns<InLine<Elements<float, float, 4>>, LogSumExp<float>, NearScope, " + PLAIN),
}


def mutated(text, name, there, instead):
    """The text of a file of the mutant `name`; `there` must be in it exactly once, unless it is empty."""
    if there and text.count(there) != 1:
        sys.exit(f"mutate.py: {name}: {there!r} occurs {text.count(there)} times")
    return text.replace(there, instead) if there else text


def copy(source, folder, name, file, there, instead):
    folder.mkdir(parents=True, exist_ok=True)
    for header in sorted((source / "kernels/cuda").glob("*.h")):
        if header.name in SHARED:
            continue
        text = header.read_text(encoding="utf-8")
        if header.name == file:
            text = mutated(text, name, there, instead)
        for other in (source / "kernels/cuda").glob("*.h"):
            if other.name not in SHARED:
                text = text.replace(f'"kernels/cuda/{other.name}"', f'"{name}/{other.name}"')
        text = text.replace("namespace ndfold::cuda {", f"namespace ndfold::cuda::{name} {{")
        text = text.replace("}  // namespace ndfold::cuda", f"}}  // namespace ndfold::cuda::{name}")
        path = folder / header.name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def main():
    source, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    includes, rows = [], []
    for name, file, there, instead, kind in MUTANTS:
        copy(source, output / name, name, file, there, instead)
        for one in KERNELS if kind == "all" else [kind]:
            header, kernel = KERNELS[one]
            includes.append(f'#include "{name}/{header}"')
            # The names inside are the mutant's own.
            rows.append(f'namespace ndfold::cuda::{name} {{\nconstexpr cuda::Kernel {one}_kernel() {{\n'
                        f"  using Tuning [[maybe_unused]] = simt::MutantTuning;\n  return {kernel};\n}}\n}}\n")
    lines = ['#include "tests/simt/mutants.h"', *dict.fromkeys(includes), "", *rows, "namespace simt {",
             "std::span<const Mutant> mutants() {", "  static constexpr Mutant kMutants[] = {"]
    for name, _, _, _, kind in MUTANTS:
        for one in KERNELS if kind == "all" else [kind]:
            lines.append(f'      {{"{name}", "{one}", ndfold::cuda::{name}::{one}_kernel()}},')
    lines += ["  };", "  return kMutants;", "}", "}  // namespace simt", ""]
    (output / "mutants.cpp").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
