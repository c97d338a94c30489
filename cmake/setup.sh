# Shared by ./check and ./demo (sourced by bash): Debian packages, and steps whose output stays in a log.
# shellcheck shell=bash
logs=build/logs

# Debian package, and the command or file that shows it is there.
package_probes='
  g++                 g++
  cmake               cmake
  ninja-build         ninja
  libeigen3-dev       /usr/include/eigen3/Eigen/Core
  libgtest-dev        /usr/include/gtest/gtest.h
  librapidcheck-dev   /usr/include/rapidcheck.h
  libcli11-dev        /usr/include/CLI/CLI.hpp
  libbenchmark-dev    /usr/include/benchmark/benchmark.h
  nlohmann-json3-dev  /usr/include/nlohmann/json.hpp
  python3             /usr/bin/python3
  python3-numpy       /usr/lib/python3/dist-packages/numpy
  python3-scipy       /usr/lib/python3/dist-packages/scipy
'

say() { printf '%s\n' "$*"; }
die() { printf '%s\n' "$*" >&2; exit 1; }

# missing_packages NAME...: those that are not there yet.
missing_packages() {
  local package probe
  while read -r package probe; do
    [[ -n $package && " $* " == *" $package "* ]] || continue
    command -v "$probe" >/dev/null || [[ $probe == /* && -e $probe ]] || printf '%s ' "$package"
  done <<<"$package_probes"
}

# need_packages NAME...: installs what is missing; needs no root when nothing is.
need_packages() {
  local missing become=()
  missing=$(missing_packages "$@")
  [[ -n $missing ]] || return 0
  say "missing Debian packages: $missing"
  command -v apt-get >/dev/null || die "apt-get is not here to install them: install these by your system's own means"
  if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null || die "root is needed to install them: run as root  apt-get install $missing"
    become=(sudo)
  fi
  # shellcheck disable=SC2086  # a list of words
  step "install them" "$logs/packages.log" install_packages $missing
  missing=$(missing_packages "$@")
  [[ -z $missing ]] || die "installed, and still not found: $missing"
}

install_packages() {
  "${become[@]}" apt-get update &&
    "${become[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

# step TITLE LOG COMMAND...: one line on the screen, the output in LOG; on failure the end of LOG, and the end of all.
step() {
  local title=$1 log=$2 start=$SECONDS
  shift 2
  mkdir -p "$(dirname "$log")"
  printf '  %-40s' "$title"
  if "$@" >"$log" 2>&1; then
    printf ' %5d s\n' $((SECONDS - start))
  else
    printf ' FAILED\n'
    tail -n 80 "$log" >&2
    die "FAILED: $title (all of it: $log)"
  fi
}
