#!/usr/bin/env bash
# Runs the checks that need a GPU: tests, benchmark, profile, memory checks, and steps over shards.
#
#   tools/gpu_checks.sh BUILD [tests|bench|profile|sanitize|shards|shards_sanitize]...
#
# BUILD is a build folder configured with -DSING_CUDA=ON, or a part of one that was copied from a machine without a
# GPU: the programs in its tests/bin, libsing_cuda_bench.so anywhere below it, and for the shards its
# python/_operators.so. Programs that do not start on this machine are built again in BUILD-here. The script writes
# $OUT/log.txt, and the benchmark writes $OUT/h200.json (OUT is BUILD/gpu unless set). Without arguments after BUILD it
# runs the first four parts. The shards need LibTorch and NCCL too.
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
# Programs that were built elsewhere find LibTorch and NCCL of the torch on this machine.
libraries=$(python3 -c '
import pathlib, torch
torch = pathlib.Path(torch.__file__).parent
print(torch / "lib", torch.parent / "nvidia" / "nccl" / "lib", sep=":")') &&
  export LD_LIBRARY_PATH="$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
SING_OPERATORS=$(realpath -m "$build/python/_operators.so")
export SING_OPERATORS PYTHONPATH=$PWD/python
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

outcome='FAILED|Failure|SKIPPED|PASSED|error|No such file'

# sanitize FILTER: runs tests under compute-sanitizer. Only our own kernels are checked: checking a library's matrix
# products takes minutes.
sanitize() {
  local tool
  for tool in memcheck racecheck; do
    run 200 "$outcome|SUMMARY" compute-sanitizer --tool "$tool" --error-exitcode 9 --kernel-name kernel_substring=sing \
      "$build/tests/bin/sing_test_cuda" --gtest_filter="$1"
  done
}

commit=${SING_COMMIT:-$(git rev-parse HEAD 2>/dev/null || echo none)}
for part in $parts; do
  case $part in
    tests)
      # Those of the LibTorch adapter are included because no layer below it knows channels-last tensors, those of
      # the trainer because it replays captured steps.
      for name in cuda contract golden memory optim rule torch lab_training; do
        filter='*cuda*:*Cuda*'
        [ "$name" = cuda ] && filter='*'
        run 300 "$outcome" "$build/tests/bin/sing_test_$name" --gtest_filter="$filter"
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
      sanitize 'CapturedStep.ReplaysAsTheEagerStepsForEveryRule:Layouts.AgreeForEveryCentralizedAxis:Layouts.AgreeForFactoredMoments:Layouts.AgreeForShortRows:NonFinitePolicies.*'
      ;;
    shards)
      run 200 "$outcome" "$build/tests/bin/sing_test_contract" --gtest_filter='*Shards*cuda*:ShardsOnCuda*'
      run 120 "$outcome" "$build/tests/bin/sing_test_cuda" --gtest_filter='CudaShards*:WorkPlan*:CapturedStep*:NonFinitePolicies*'
      run 60 "$outcome" "$build/tests/bin/sing_test_nccl" --gtest_filter='NcclShards*'
      run 300 'passed|failed|^E |^FAILED|^ERROR|SKIPPED' python3 -m pytest -q -rs --maxfail=8 python/tests/test_cuda_shards.py
      run 120 . python3 bench/cuda/sharded_host_bench.py # the host's time per step
      ;;
    shards_sanitize)
      sanitize 'CudaShards.PoliciesHoldInReplays:CudaShards.AFailingSumLeavesTheStepUndone'
      ;;
    *)
      echo "[gpu_checks] wanted tests, bench, profile, sanitize, shards or shards_sanitize, got '$part'"
      exit 2
      ;;
  esac
done
echo "$failures commands failed" | tee -a "$log"
[ "$failures" -eq 0 ]
