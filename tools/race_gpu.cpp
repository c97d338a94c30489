// race_on_gpu: tools/race.h where a GPU runs.
#include "lib/io/host_bytes.h"
#include "lib/io/npy_header.h"
#include "tools/gpu.h"
#include "tools/race.h"
#include "tools/random.h"

#include <algorithm>
#include <array>
#include <memory>

namespace ndfold::cli {
namespace {

constexpr Index kCachesToPass = 3;            // as many bytes go by before an input is read again
constexpr Index kMostTurns = 1024;            // tiny inputs are timed in the cache all the same
constexpr Index kMostBytes = Index{1} << 48;  // more than any GPU has: sums of such sizes fit 64 bits
constexpr Index kLeastRuns = 20;              // of one replay, whose start takes some microseconds

Index rounded_up(Index n, Index unit) { return (n + unit - 1) / unit * unit; }

// `turns` inputs, outputs and copies behind one another, and one workspace: runs follow each other in a stream.
struct Track {
  Planned planned;
  Index in_bytes, out_bytes, turns;
  GpuBytes in, out, copied, scratch;
  std::vector<Recording> recordings = {};

  Index in_pitch() const { return rounded_up(in_bytes, GpuBytes::kAlignment); }
  Index out_pitch() const { return rounded_up(out_bytes, GpuBytes::kAlignment); }

  Status queue_run(Index turn, Stream stream) const {
    const Workspace workspace = {.data = scratch.data(), .bytes = static_cast<std::size_t>(scratch.size())};
    return planned.plan.run(in.data() + turn * in_pitch(), out.data() + turn * out_pitch(), workspace, stream);
  }
  Status queue_copy(Index turn, Stream stream) const {
    return copy_on_gpu(copied.data() + turn * in_pitch(), in.data() + turn * in_pitch(), in_bytes, stream);
  }
};

Index turns_for(Index bytes, const DeviceFacts& gpu) {
  const Index wanted = (kCachesToPass * gpu.cache_bytes + bytes - 1) / bytes;
  return std::clamp<Index>(wanted, 1, kMostTurns);
}

Status fill(Track& track, const ViewDesc& in) {
  auto source = io::HostBytes::allocate(track.in_bytes);
  if (!source) return source.error();
  fill_random(in.dtype, source->data(), source->span().size() / size_bytes(in.dtype));
  if (auto status = copy_to_gpu(track.in.data(), source->span()); !status.ok()) return status;
  for (Index turn = 1; turn < track.turns; ++turn)
    if (auto status = copy_on_gpu(track.in.data() + turn * track.in_pitch(), track.in.data(), track.in_bytes);
        !status.ok())
      return status;
  return {};
}

Status allocate(Track& track) {
  struct Place {
    GpuBytes Track::*memory;
    Index bytes;
  };
  const Place places[] = {{&Track::in, track.turns * track.in_pitch()},
                          {&Track::out, track.turns * track.out_pitch()},
                          {&Track::copied, track.turns * track.in_pitch()},
                          {&Track::scratch, static_cast<Index>(track.planned.plan.workspace_bytes())}};
  for (const auto& place : places) {
    auto memory = GpuBytes::allocate(place.bytes);
    if (!memory) return memory.error();
    track.*place.memory = *std::move(memory);
  }
  return {};
}

using Queue = Status (Track::*)(Index, Stream) const;

// Every turn as often as the others.
Status record(Track& track, Index runs, Queue queue) {
  auto recording = Recording::record([&](Stream stream) {
    for (Index run = 0; run < runs; ++run)
      if (auto status = (track.*queue)(run % track.turns, stream); !status.ok()) return status;
    return Status();
  });
  if (!recording) return recording.error();
  track.recordings.push_back(*std::move(recording));
  return {};
}

// One run whose answer can be told, waited for.
Status try_once(const Track& track) {
  if (auto status = track.queue_run(0, {}); !status.ok()) return status;
  std::array<std::byte, 1> first;
  return copy_from_gpu(first, track.out.data());
}

}  // namespace

Result<Race> race_on_gpu(const Planned& planned, const ViewDesc& in, const DeviceFacts& gpu) {
  const auto in_bytes = io::array_bytes(in.dtype, in.sizes);
  if (!in_bytes) return in_bytes.error();
  const auto out_bytes = io::array_bytes(planned.out.dtype, planned.out.sizes);
  if (!out_bytes) return out_bytes.error();
  if (*in_bytes > kMostBytes || *out_bytes > kMostBytes)
    return Status(Code::out_of_memory, "--shape has more bytes than any GPU has memory");
  if (auto status = use_gpu(gpu.ordinal); !status.ok()) return status;
  const Index moved = *in_bytes + *out_bytes, turns = turns_for(moved, gpu);
  const auto track = std::make_shared<Track>(Track{planned, *in_bytes, *out_bytes, turns, {}, {}, {}, {}});
  const Index runs = rounded_up(kLeastRuns, turns);
  if (auto status = allocate(*track); !status.ok()) return status;
  if (auto status = fill(*track, in); !status.ok()) return status;
  if (auto status = try_once(*track); !status.ok()) return status;

  struct Row {
    const char* name;
    Queue queue;
    Index bytes;
  };
  const Row rows[] = {{"plan", &Track::queue_run, moved}, {"memcpy", &Track::queue_copy, 2 * *in_bytes}};
  Race race;
  race.where = gpu.name;
  for (const auto& row : rows) {
    if (auto status = record(*track, runs, row.queue); !status.ok()) return status;
    const auto number = track->recordings.size() - 1;
    race.rows.push_back({.name = row.name,
                         .run = {},
                         .bytes = static_cast<std::size_t>(row.bytes),
                         .seconds = [track, number] { return track->recordings[number].seconds(); },
                         .runs = runs});
  }
  return race;
}

}  // namespace ndfold::cli
