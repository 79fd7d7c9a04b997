#!/usr/bin/env bash
# Shows that the virtual environment of tools/environment.sh is whole or absent: killed, raced and renamed.
# Nothing is downloaded: the step that would install the requirements is replaced.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export XDG_CACHE_HOME="$scratch/a cache"
source "$root/tools/steps.sh"
source "$root/tools/environment.sh"
mkdir -p "$cache"
base=$(find_python)
final=$cache/venv-0123456789abcdef

expect() { # MESSAGE CONDITION…
  "${@:2}" || { echo "failed: $1" >&2; exit 1; }
}

# Killed in the middle of the install: nothing under the final name, and the next caller is not misled.
mkfifo "$scratch/started" "$scratch/never"
install_requirements() { echo started >"$scratch/started"; read -r _ <"$scratch/never"; }
with_lock ensure_virtual_environment "$final" "$base" 2>/dev/null &
caller=$!
read -r _ <"$scratch/started"
installing=$(cat /proc/"$caller"/task/"$caller"/children)
kill -9 "$caller" $installing
wait "$caller" 2>/dev/null || true
expect "a killed install leaves no environment" test ! -e "$final"
expect "a killed install leaves its partial folder" compgen -G "$final.partial.*" >/dev/null

# Two callers at once: one installs, the other waits and uses it.
install_requirements() { echo "$BASHPID" >>"$scratch/installs"; }
with_lock ensure_virtual_environment "$final" "$base" 2>/dev/null &
first=$!
with_lock ensure_virtual_environment "$final" "$base" 2>/dev/null &
wait "$first" && wait $!
expect "one of two callers installs" test "$(wc -l <"$scratch/installs")" = 1
expect "partial folders are gone" test -z "$(compgen -G "$cache/*.partial.*")"

# Renamed: its scripts run and know only the final path.
expect "no file names the partial folder" test -z "$(grep -rlIF .partial. "$final/bin" "$final/pyvenv.cfg")"
expect "a script runs after the rename" "$final/bin/pip" --version >/dev/null
prefix=$("$final/bin/python" -c 'import sys; print(sys.prefix)')
expect "the interpreter finds its environment" test "$prefix" = "$final"
active=$(bash -c 'source "$1/bin/activate" && command -v python' _ "$final")
expect "activate puts it on PATH" test "$active" = "$final/bin/python"

# A failed install says what to run and leaves nothing.
final=$cache/venv-fedcba9876543210
install_requirements() { return 1; }
said=$(with_lock ensure_virtual_environment "$final" "$base" 2>&1 || true)
expect "a failed install names the pip line" grep -q 'pip install -r tools/requirements.txt' <<<"$said"
expect "a failed install leaves nothing" test -z "$(compgen -G "$final*")"

# The packages of the tests are added to the environment once, and asked for again if the install was interrupted.
final=$cache/venv-0123456789abcdef
mark=$final/all-0123
pip_install() { return 1; }
with_lock ensure_all_requirements "$mark" "$final/bin/python" 2>/dev/null && code=0 || code=$?
expect "a failed install of more packages is a failure" test "$code" != 0
expect "a failed install of more packages is not marked as done" test ! -e "$mark"
pip_install() { echo "$2" >>"$scratch/more"; }
with_lock ensure_all_requirements "$mark" "$final/bin/python"
with_lock ensure_all_requirements "$mark" "$final/bin/python"
expect "more packages are installed once" test "$(cat "$scratch/more")" = "$all_requirements"

# A demo asks for fewer packages than the tests.
dpkg-query() { :; }
apt-cache() { return 1; }
find_missing_packages program
program=("${required[@]}")
find_missing_packages all
expect "the program needs a compiler" grep -qxF g++ <<<"$(printf '%s\n' "${program[@]}")"
expect "the program needs no GoogleTest" test -z "$(printf '%s\n' "${program[@]}" | grep gtest)"
expect "the tests need GoogleTest too" grep -qxF libgtest-dev <<<"$(printf '%s\n' "${required[@]}")"
expect "the tests need what the program needs" test -z "$(comm -23 <(printf '%s\n' "${program[@]}" | sort) <(printf '%s\n' "${required[@]}" | sort))"
echo "the virtual environment is whole or absent"
