#!/usr/bin/env bash
# Runs what only a machine with a GPU can answer: tests, benchmark, profile, memory checks.
#
#   tools/gpu_session.sh BUILD [tests|contract|bench|profile|sanitize]...
#
# BUILD is a build tree configured with -DSING_CUDA=ON; where its programs do not start here it is
# built again in BUILD-here. Results go to $OUT (default: BUILD/gpu). Without parts: all of them.
set -u
cd "$(dirname "$0")/.."
build=${1:?"usage: tools/gpu_session.sh BUILD [PART]..."}
shift
parts=${*:-tests contract bench profile sanitize}
out=${OUT:-$build/gpu}
mkdir -p "$out"
failures=0

if ! "$build/tests/bin/sing_test_cuda" --gtest_list_tests >"$out/start.txt" 2>&1; then
  echo "programs of $build do not start here:" && tail -3 "$out/start.txt"
  build=$build-here
  cmake -S . -B "$build" -G Ninja -DSING_CUDA=ON -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CUDA_ARCHITECTURES=90 >"$out/configure.txt" 2>&1 &&
    cmake --build "$build" >"$out/build.txt" 2>&1 || { tail -20 "$out/configure.txt" "$out/build.txt"; exit 1; }
fi
library=$(find "$build" -name 'libsing_cuda_bench.so' | head -1)
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv,noheader

# run NAME SECONDS COMMAND...: output to $out/NAME.txt, its end to the screen.
run() {
  local name=$1 seconds=$2 began=$SECONDS
  shift 2
  timeout "$seconds" "$@" >"$out/$name.txt" 2>&1
  local status=$?
  echo "== $name: status $status, $((SECONDS - began)) s"
  [ "$status" -eq 0 ] || failures=$((failures + 1))
}

commit=${SING_COMMIT:-$(git rev-parse HEAD 2>/dev/null || echo none)}
for part in $parts; do
  case $part in
    tests)
      run tests 240 "$build/tests/bin/sing_test_cuda"
      grep -E "FAILED|Failure|SKIPPED|PASSED|error" -A4 "$out/tests.txt" | tail -60
      ;;
    contract)
      for program in "$build"/tests/bin/sing_test_*; do
        name=$(basename "$program")
        [ "$name" = sing_test_cuda ] && continue
        run "$name" 200 "$program" --gtest_filter='*cuda*:*Cuda*'
        grep -E "FAILED|Failure|PASSED" -A3 "$out/$name.txt" | tail -15
      done
      ;;
    bench)
      run bench 300 python3 bench/cuda/cuda_step_bench.py "$library" --result "$out/h200.json" \
        --models resnet18 vit_s vit_b gpt2_124m gpt2_1.5b ten_thousand --sweep vit_s vit_b gpt2_1.5b --commit "$commit"
      cat "$out/bench.txt"
      ;;
    profile)
      for model in vit_s gpt2_124m; do
        run "profile_$model" 120 ncu --clock-control none --cache-control none --kernel-name regex:step_kernel \
          --launch-skip 5 --launch-count 5 --metrics \
          dram__bytes_read.sum,dram__bytes_write.sum,gpu__time_duration.sum,lts__t_sector_hit_rate.pct,sm__inst_executed.sum,smsp__issue_active.avg.pct_of_peak_sustained_active \
          python3 bench/cuda/cuda_step_bench.py "$library" --profile "$model"
        grep -E "dram__|gpu__time|hit_rate|inst_exec|issue_active" "$out/profile_$model.txt" | tail -30
      done
      ;;
    sanitize)
      filter='CapturedStep.ReplaysAsTheEagerStepsForEveryRule:Layouts.AgreeForEveryCentralizedAxis:Layouts.AgreeForFactoredMoments:NonFinitePolicies.*'
      for tool in memcheck racecheck; do
        run "$tool" 200 compute-sanitizer --tool "$tool" --error-exitcode 9 \
          "$build/tests/bin/sing_test_cuda" --gtest_filter="$filter"
        tail -4 "$out/$tool.txt"
      done
      ;;
    *)
      echo "[gpu_session] wanted tests, contract, bench, profile or sanitize, was given '$part'"
      exit 2
      ;;
  esac
done
echo "$failures parts failed"
[ "$failures" -eq 0 ]
