// race_on_cpu: tools/race.h where a CPU runs.
#include "lib/io/npy_header.h"
#include "tools/compute.h"
#include "tools/race.h"
#include "tools/random.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace ndfold::cli {
namespace {

// One part for each worker, cut where cache lines end.
struct Copy {
  std::byte* to;
  const std::byte* from;
  std::size_t bytes, part;

  static void run_part(void* copy, Index index) {
    const auto& whole = *static_cast<const Copy*>(copy);
    const auto begin = std::min(whole.bytes, static_cast<std::size_t>(index) * whole.part);
    std::memcpy(whole.to + begin, whole.from + begin, std::min(whole.part, whole.bytes - begin));
  }
};

Copy copy_in_parts(io::HostBytes& to, const io::HostBytes& from, int parts) {
  constexpr std::size_t kLine = 64;
  const auto bytes = from.span().size();
  const auto lines = (bytes + kLine - 1) / kLine;
  const auto count = static_cast<std::size_t>(parts);
  return {.to = to.data(), .from = from.data(), .bytes = bytes, .part = (lines + count - 1) / count * kLine};
}

// Random input, as many bytes to copy it to, and what a run needs besides.
struct Track {
  Planned planned;
  ChosenWorkers chosen;
  io::HostBytes in, copied;
  RunMemory memory;
  Copy copy = {};

  Track(const Planned& plan, int threads) : planned(plan), chosen(threads) {}

  Status run() {
    return planned.plan.run(in.data(), memory.out.data(), memory.workspace(), {.workers = &chosen.get()});
  }
};

}  // namespace

Result<Race> race_on_cpu(const Planned& planned, const ViewDesc& in, int threads) {
  const auto bytes = io::array_bytes(in.dtype, in.sizes);
  if (!bytes) return bytes.error();
  const auto track = std::make_shared<Track>(planned, threads);
  auto source = io::HostBytes::allocate(*bytes), copied = io::HostBytes::allocate(*bytes);
  if (!source) return source.error();
  if (!copied) return copied.error();
  auto memory = allocate(planned);
  if (!memory) return memory.error();
  track->in = *std::move(source);
  track->copied = *std::move(copied);
  track->memory = *std::move(memory);
  fill_random(in.dtype, track->in.data(), track->in.span().size() / size_bytes(in.dtype));
  // Written once, so that the copy is not charged for fresh pages.
  std::memset(track->copied.data(), 1, track->copied.span().size());
  if (auto status = track->run(); !status.ok()) return status;  // the only run whose answer can be told

  const int workers = track->chosen.get().threads();
  track->copy = copy_in_parts(track->copied, track->in, workers);
  const auto moved = track->in.span().size() + track->memory.out.span().size();
  Race race;
  race.where = std::to_string(workers) + (workers == 1 ? " thread" : " threads");
  race.rows = {{.name = "plan", .run = [track] { (void)track->run(); }, .bytes = moved},
               {.name = "memcpy",
                .run = [track, workers] { track->chosen.get().run(workers, Copy::run_part, &track->copy); },
                .bytes = 2 * track->in.span().size()}};
  return race;
}

}  // namespace ndfold::cli
