# Finds or installs the system packages and the virtual environment that ./dev needs. Sourced by ./dev.
#
# STAGE is what is needed: program for the program alone, all for the tests, checks and wheels too.
# activate_python sets $python and puts its programs, which include cmake and ninja, first on PATH.
# shellcheck shell=bash disable=SC2154 # ./dev sets root

cache=${XDG_CACHE_HOME:-$HOME/.cache}/sing
requirements=$root/tools/requirements.txt
all_requirements=$root/tools/requirements-all.txt
packages=$root/tools/packages.txt

say() { echo "[dev] $*" >&2; }
stop() { say "$@"; exit 1; }

# Sets the arrays required and optional to the packages that are not installed and that $1, program or all, needs. If a
# package has several names, the one that this distribution has is taken, or the first one while apt knows none of them.
find_missing_packages() {
  local names stage kind name chosen installed
  required=() optional=()
  command -v dpkg-query >/dev/null || return 0
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' | sed -n 's/ installed$//p')
  while read -r names stage kind; do
    [[ $1 == all || $stage == program ]] || continue
    grep -qxF "${names//|/$'\n'}" <<<"$installed" && continue
    chosen=${names%%|*}
    [[ $names != *\|* ]] || for name in ${names//|/ }; do
      apt-cache show "$name" >/dev/null 2>&1 && chosen=$name && break
    done
    if [[ $kind == required ]]; then required+=("$chosen"); else optional+=("$chosen"); fi
  done < <(sed '/^#/d' "$packages")
}

as_root() {
  if [[ $EUID == 0 ]]; then "$@"; else sudo -n "$@"; fi
}

can_install() { [[ $EUID == 0 ]] || sudo -n true 2>/dev/null; }

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    -o DPkg::Lock::Timeout=600 "$@" >&2
}

install_packages() { # STAGE
  local package
  say "installing ${required[*]} ${optional[*]}"
  as_root dpkg --configure -a >&2 && as_root apt-get update -q >&2 || say "apt-get update failed"
  find_missing_packages "$1" # apt knows only after the update which of several names exist
  apt_install "${required[@]}" "${optional[@]}" && return
  apt_install "${required[@]}" || true
  for package in "${optional[@]}"; do apt_install "$package" || true; done
}

# Optional packages are requested once, and not again at every call on a machine without network.
ensure_packages() { # STAGE
  local asked
  asked=$cache/asked-$(sha256sum <<<"${optional[*]}" | cut -c1-16)
  if [[ -z ${SING_PYTHON:-} ]] && can_install && { ((${#required[@]})) || [[ ! -e $asked ]]; }; then
    touch "$asked"
    install_packages "$1"
    find_missing_packages "$1"
    touch "$cache/asked-$(sha256sum <<<"${optional[*]}" | cut -c1-16)"
  fi
  ((${#optional[@]} == 0)) || say "some commands need packages that are not installed; apt-get install ${optional[*]}"
  ((${#required[@]})) || return 0
  [[ -n ${SING_PYTHON:-} ]] || stop "wanted ${required[*]}, got none of them installed; run as root: apt-get install ${required[*]} ${optional[*]}"
  say "the build may need packages that are not installed; apt-get install ${required[*]}"
}

# Prints the first Python that can make virtual environments and for which torch and numpy of requirements.txt have wheels.
find_python() {
  local candidate
  for candidate in python3 /usr/bin/python3 python3.13 python3.12 python3.11 python3.10; do
    "$candidate" -c 'import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info < (3, 14))' \
      2>/dev/null && echo "$candidate" && return
  done
  return 1
}

# Python compiles a module when it is first imported; compiling all of torch here would take longer than the demo needs it.
pip_install() { # PYTHON FILE
  "$1" -m pip install --disable-pip-version-check --no-compile -r "$2" >&2
}

install_requirements() { # PYTHON
  pip_install "$1" "$requirements" &&
    "$1" -c 'import torch' # an installed wheel may still not load because a system library is missing
}

# Makes the virtual environment $1 with interpreter $2. It is built under a temporary name and gets its own name in one
# rename. The first lines of its scripts contain the temporary path, so they are rewritten before the rename.
make_virtual_environment() {
  local final=$1 base=$2 partial=$1.partial.$$
  local name=${1##*/}
  trap 'rm -rf "$partial"; exit 130' INT TERM
  rm -rf "$cache"/venv-*.partial.* # the caller holds the lock, so no process uses these
  if ! { "$base" -m venv "$partial" && install_requirements "$partial/bin/python"; }; then
    rm -rf "$partial"
    stop "wanted a virtual environment, got the failure above; without network, run where there is one:
    $base -m venv FOLDER && FOLDER/bin/python -m pip install -r tools/requirements.txt
  then SING_PYTHON=FOLDER/bin/python ./dev …"
  fi
  grep -rlIZF "$name.partial.$$" "$partial/bin" "$partial/pyvenv.cfg" |
    xargs -0 sed -i "s/$name\.partial\.$$/$name/g"
  mv -T "$partial" "$final"
  trap - INT TERM
}

# Runs "$@" while holding the lock of the cache folder. Children inherit the lock, so the next caller also waits for
# processes that a killed caller left running.
with_lock() {
  (
    flock -n 9 || { say "waiting for another ./dev that is installing" && flock 9; }
    "$@"
  ) 9>"$cache/lock"
}

ensure_virtual_environment() { # FINAL BASE
  [[ -d $1 ]] || make_virtual_environment "$1" "$2"
}

# Adds the packages of requirements-all.txt. The file $1 is made when all of them are there.
ensure_all_requirements() { # MARK PYTHON
  [[ ! -e $1 ]] || return 0
  pip_install "$2" "$all_requirements" || stop "wanted the packages of tools/requirements-all.txt, got the failure above"
  touch "$1"
}

use_existing_python() {
  python=$("$SING_PYTHON" -c 'import sys; print(sys.executable)') || stop "SING_PYTHON: wanted a Python that runs, got '$SING_PYTHON'"
  "$python" -c 'import sys, importlib.metadata as m; sys.exit(not m.version("torch").startswith("2.11."))' \
    2>/dev/null || stop "SING_PYTHON=$SING_PYTHON: wanted torch 2.11, got $(
    "$python" -c 'import importlib.metadata as m; print(m.version("torch"))' 2>/dev/null || echo none)"
}

activate_packages() { # STAGE
  local required optional
  mkdir -p "$cache"
  find_missing_packages "$1"
  ((${#required[@]} + ${#optional[@]})) || return 0
  begin_step "system packages"
  with_lock ensure_packages "$1"
  end_step
}

activate_python() { # STAGE
  local base key mark
  if [[ -n ${SING_PYTHON:-} ]]; then
    use_existing_python
  else
    base=$(find_python) || stop "wanted Python 3.10 to 3.13 with venv, got none; apt-get install python3-venv"
    key=$({ cat "$requirements" && "$base" -c 'import sys; print(sys.version)'; } | sha256sum | cut -c1-16)
    export VIRTUAL_ENV=$cache/venv-$key
    if [[ ! -d $VIRTUAL_ENV ]]; then
      begin_step "Python packages of tools/requirements.txt, in $VIRTUAL_ENV (torch is about 3.5 GB)"
      with_lock ensure_virtual_environment "$VIRTUAL_ENV" "$base"
    fi
    python=$VIRTUAL_ENV/bin/python
    mark=$VIRTUAL_ENV/all-$(sha256sum "$all_requirements" | cut -c1-16)
    if [[ $1 == all && ! -e $mark ]]; then
      begin_step "Python packages of tools/requirements-all.txt"
      with_lock ensure_all_requirements "$mark" "$python"
    fi
    end_step
  fi
  export PATH=${python%/*}:$PATH
}
