#!/usr/bin/env bash
# Runs the checks that need a GPU: tests, benchmark, profile and memory checks.
#
#   tools/gpu_checks.sh BUILD [tests|bench|profile|sanitize]...
#
# BUILD is a build folder configured with -DSING_CUDA=ON, or a part of one that was copied from a machine without a
# GPU: the programs in its tests/bin, and libsing_cuda_bench.so anywhere below it. Programs that do not start on this
# machine are built again in BUILD-here. The script writes $OUT/log.txt, and the benchmark writes $OUT/h200.json (OUT is
# BUILD/gpu unless set). Without arguments after BUILD it runs all four parts.
set -u
cd "$(dirname "$0")/.." || exit
build=${1:?"usage: tools/gpu_checks.sh BUILD [PART]..."}
shift
parts=${*:-tests bench profile sanitize}
out=${OUT:-$build/gpu}
mkdir -p "$out"
log=$out/log.txt
: >"$log"
failures=0

if ! "$build/tests/bin/sing_test_cuda" --gtest_list_tests >>"$log" 2>&1; then
  echo "[gpu_checks] the programs of $build do not start on this machine; building them in $build-here:" && tail -3 "$log"
  build=$build-here
  cmake -S . -B "$build" -G Ninja -DSING_CUDA=ON -DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_ARCHITECTURES=90 >>"$log" 2>&1 &&
    cmake --build "$build" >>"$log" 2>&1 || { tail -20 "$log" && exit 1; }
fi
library=$(find "$build" -name libsing_cuda_bench.so | head -1)
# Programs that were built elsewhere find the LibTorch of the torch on this machine.
torch_libraries=$(python3 -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parent / "lib")') &&
  export LD_LIBRARY_PATH="$torch_libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv,noheader | tee -a "$log"

# run SECONDS PATTERN COMMAND...: the whole output goes to the log, and lines that match PATTERN also go to the screen.
run() {
  local seconds=$1 pattern=$2 began=$SECONDS status
  shift 2
  echo "== $*" | tee -a "$log"
  timeout "$seconds" "$@" 2>&1 | tee -a "$log" | grep -E "$pattern" | tail -60
  status=${PIPESTATUS[0]}
  echo "== status $status, $((SECONDS - began)) s" | tee -a "$log"
  [ "$status" -eq 0 ] || failures=$((failures + 1))
}

commit=${SING_COMMIT:-$(git rev-parse HEAD 2>/dev/null || echo none)}
outcome='FAILED|Failure|SKIPPED|PASSED|error'
for part in $parts; do
  case $part in
    tests)
      # Those of the LibTorch adapter are included because no layer below it knows channels-last tensors, those of
      # the trainer because it replays captured steps.
      for name in cuda contract golden memory optim rule torch lab_training; do
        filter='*cuda*:*Cuda*'
        [ "$name" = cuda ] && filter='*'
        run 300 "$outcome|No such file" "$build/tests/bin/sing_test_$name" --gtest_filter="$filter"
      done
      ;;
    bench)
      run 300 . python3 bench/cuda/cuda_step_bench.py "$library" --result "$out/h200.json" --commit "$commit" \
        --models resnet18 vit_s vit_b gpt2_124m gpt2_1.5b ten_thousand --sweep vit_s vit_b gpt2_124m
      ;;
    profile)
      for model in vit_s vit_b; do
        run 120 'dram__|gpu__time|hit_rate' ncu --clock-control none --cache-control none --kernel-name regex:step_kernel \
          --launch-skip 5 --launch-count 5 --metrics \
          dram__bytes_read.sum,dram__bytes_write.sum,gpu__time_duration.sum,lts__t_sector_hit_rate.pct \
          python3 bench/cuda/cuda_step_bench.py "$library" --profile "$model"
      done
      ;;
    sanitize)
      filter='CapturedStep.ReplaysAsTheEagerStepsForEveryRule:Layouts.AgreeForEveryCentralizedAxis:Layouts.AgreeForFactoredMoments:Layouts.AgreeForShortRows:NonFinitePolicies.*'
      for tool in memcheck racecheck; do
        # Only our own kernels are checked: checking a library's matrix products takes minutes.
        run 200 "$outcome|SUMMARY" compute-sanitizer --tool "$tool" --error-exitcode 9 --kernel-name kernel_substring=sing \
          "$build/tests/bin/sing_test_cuda" --gtest_filter="$filter"
      done
      ;;
    *)
      echo "[gpu_checks] wanted tests, bench, profile or sanitize, got '$part'"
      exit 2
      ;;
  esac
done
echo "$failures commands failed" | tee -a "$log"
[ "$failures" -eq 0 ]
