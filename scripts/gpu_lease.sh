#!/usr/bin/env bash
# All that a GPU can tell in a few minutes: smoke, tests, memory and race checks, benchmarks and
# training, each under a limit of its own, and one page at the end.
#
#   scripts/gpu_lease.sh                    about 400 seconds
#   scripts/gpu_lease.sh --quick            about 200
#   scripts/gpu_lease.sh --only smoke bench
#   scripts/gpu_lease.sh --out DIR          where the archive goes (OUT, or scripts/results/gpu)
#
# Stages: smoke tests memcheck racecheck bench train. It runs in the Python that there is (PYTHON),
# with its CuPy, and installs nothing. The archive gpu.tgz is written anew after each stage, so that
# an end at any time loses one stage only. The exit status is how many stages failed.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PYTHON=${PYTHON:-python3}
FAILURES=0 STAGES="smoke tests memcheck racecheck bench train"
OUT=${OUT:-scripts/results/gpu} QUICK= ONLY=
usage() { sed -n '2,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p}' "$0"; }
while [ $# -gt 0 ]; do
  case $1 in
    --quick) QUICK=1 ;;
    --out) [ $# -gt 1 ] || { echo "gpu_lease.sh: --out: expected a folder" >&2; exit 2; }; OUT=$2; shift ;;
    --only)
      while [ $# -gt 1 ] && [[ $2 != -* ]]; do
        [[ " $STAGES " == *" $2 "* ]] || { echo "gpu_lease.sh: no stage $2; there are $STAGES" >&2; exit 2; }
        ONLY="$ONLY $2"; shift
      done
      [ -n "$ONLY" ] || { echo "gpu_lease.sh: --only: expected some of $STAGES" >&2; exit 2; } ;;
    -h | --help) usage; exit ;;
    *) echo "gpu_lease.sh: unknown $1; see --help" >&2; exit 2 ;;
  esac
  shift
done
[ -n "$ONLY" ] || ONLY=$([ -n "$QUICK" ] && echo "smoke tests bench" || echo "$STAGES")
mkdir -p "$OUT" || exit 2
OUT=$(cd "$OUT" && pwd)
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
pack() { tar czf "$OUT/gpu.tgz.new" -C "$WORK" . && mv "$OUT/gpu.tgz.new" "$OUT/gpu.tgz"; }

# stage NAME LIMIT COMMAND...: its output goes into NAME.txt.
stage() {
  local name=$1 limit=$2 start=$SECONDS status
  shift 2
  [[ " $ONLY " == *" $name "* ]] || return 0
  echo "== $name, at most $limit s, after $SECONDS s"
  timeout --signal=INT --kill-after=10 "$limit" "$@" >"$WORK/$name.txt" 2>"$WORK/$name.err"
  status=$?
  echo "$name,$((SECONDS - start)),$limit,$status" >>"$WORK/stages.csv"
  [ $status = 0 ] || FAILURES=$((FAILURES + 1))
  pack
}

{
  nvidia-smi
  "$PYTHON" -m pip list 2>/dev/null
} >"$WORK/machine.txt" 2>&1
missing=()
for command in timeout nvidia-smi nvcc g++ make compute-sanitizer; do
  command -v $command >/dev/null || missing+=("$command")
done
for module in cupy numpy click tqdm pytest xdist torch matplotlib loky pooch platformdirs cudnn; do
  "$PYTHON" -c "import importlib.util, sys; sys.exit(importlib.util.find_spec('$module') is None)" ||
    missing+=("$module")
done
echo "missing here, and done without: ${missing[*]:-nothing}" | tee "$WORK/missing.txt"

stage smoke 70 "$PYTHON" scripts/gpu_smoke.py
[ -f "$WORK/smoke.txt" ] && cat "$WORK/smoke.txt"

workers=()
[[ " ${missing[*]} " == *" xdist "* ]] ||
  workers=(-n auto --maxprocesses 12 --max-worker-restart 40 --dist worksteal)
MINIFP_REQUIRE_GPU=1 stage tests "$([ -n "$QUICK" ] && echo 90 || echo 150)" "$PYTHON" -m pytest \
  "${GPU_TESTS:-tests/cuda}" --quiet --exhaustive -p no:cacheprovider -p no:benchmark --junitxml "$WORK/tests.xml" --durations=15 \
  --ignore=tests/cuda/test_compile.py --ignore=tests/cuda/test_cublas.py "${workers[@]}"

for tool in memcheck racecheck; do
  if [[ " ${missing[*]} " != *" compute-sanitizer "* ]]; then
    stage $tool 50 compute-sanitizer --tool $tool --error-exitcode 9 --log-file "$WORK/$tool.log" \
      "$PYTHON" scripts/gpu_sanitize.py --seconds 35
  fi
done

stage bench "$([ -n "$QUICK" ] && echo 80 || echo 180)" "$PYTHON" scripts/bench_gpu.py --out "$WORK/bench" \
  --only device gemm steps optimizer conv bandwidth --repeat 3 ${QUICK:+--quick} \
  --limit "$([ -n "$QUICK" ] && echo 60 || echo 150)"

stage train 120 "$PYTHON" -m minifp compare lenet --data digits --device cuda --seeds 3 \
  --precision float32 mixed float16 --out "$WORK/lenet"

"$PYTHON" scripts/benchmarks/gpu_page.py "$WORK" | tee "$WORK/page.md"
pack
echo "all of it: $OUT/gpu.tgz"
exit $FAILURES
