#!/usr/bin/env bash
# Runs the checks of steps over shards that need a GPU: tests in C++ and Python, and the host's time per step.
#
#   tools/gpu_shard_checks.sh BUILD [cpp|python|host|sanitize]...
#
# BUILD is a build folder configured with -DSING_CUDA=ON and LibTorch, or a part of one that was copied from a machine
# without a GPU: sing_test_contract, sing_test_cuda and sing_test_nccl in its tests/bin, and its python/_operators.so. The
# script writes $OUT/shard_log.txt (OUT is BUILD/gpu unless set). Without arguments after BUILD it runs all but sanitize.
set -u
cd "$(dirname "$0")/.." || exit
build=${1:?"usage: tools/gpu_shard_checks.sh BUILD [PART]..."}
shift
parts=${*:-cpp python host}
out=${OUT:-$build/gpu}
mkdir -p "$out"
log=$out/shard_log.txt
: >"$log"
failures=0
# Programs that were built elsewhere find LibTorch and NCCL of the torch on this machine.
libraries=$(python3 -c '
import pathlib, torch
lib = pathlib.Path(torch.__file__).parent
print(lib / "lib", lib.parent / "nvidia" / "nccl" / "lib", sep=":")')
export LD_LIBRARY_PATH="$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export SING_OPERATORS=$PWD/$build/python/_operators.so
case $build in /*) SING_OPERATORS=$build/python/_operators.so ;; esac
nvidia-smi --query-gpu=name,driver_version,clocks.sm,temperature.gpu --format=csv,noheader | tee -a "$log"

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
for part in $parts; do
  case $part in
    cpp)
      run 200 "$outcome" "$build/tests/bin/sing_test_contract" --gtest_filter='*Shards*cuda*:ShardsOnCuda*'
      run 120 "$outcome" "$build/tests/bin/sing_test_cuda" --gtest_filter='CudaShards*:WorkPlan*:CapturedStep*:NonFinitePolicies*'
      run 60 "$outcome" "$build/tests/bin/sing_test_nccl" --gtest_filter="NcclShards*"
      ;;
    python)
      PYTHONPATH=$PWD/python run 300 'passed|failed|^E |^FAILED|^ERROR|SKIPPED' python3 -m pytest -q -rs --maxfail=8 python/tests/test_cuda_shards.py
      ;;
    host)
      PYTHONPATH=$PWD/python run 120 . python3 bench/cuda/sharded_host_bench.py
      ;;
    sanitize)
      for tool in memcheck racecheck; do
        run 200 "$outcome|SUMMARY" compute-sanitizer --tool "$tool" --error-exitcode 9 --kernel-name kernel_substring=sing \
          "$build/tests/bin/sing_test_cuda" --gtest_filter='CudaShards.PoliciesHoldInReplays:CudaShards.AFailingSumLeavesTheStepUndone'
      done
      ;;
    *)
      echo "[gpu_shard_checks] wanted cpp, python, host or sanitize, got '$part'"
      exit 2
      ;;
  esac
done
echo "$failures commands failed" | tee -a "$log"
[ "$failures" -eq 0 ]
