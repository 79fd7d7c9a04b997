# Says what ./dev does, and how long each step took. Sourced by ./dev.
# shellcheck shell=bash

steps=()
step_name=

begin_step() { # NAME
  end_step
  step_name=$1
  step_began=$SECONDS
  say "$1"
}

end_step() {
  [[ -n $step_name ]] || return 0
  steps+=("$(printf '%3d:%02d  %s' $(((SECONDS - step_began) / 60)) $(((SECONDS - step_began) % 60)) "$step_name")")
  step_name=
}

say_steps() {
  end_step
  say "minutes and seconds of each step:"
  printf '[dev] %s\n' "${steps[@]}" >&2
}
