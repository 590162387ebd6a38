#!/bin/sh
# Pre-flight of the hosts of an MPI job: one process a host, then one verdict on all.
#
#   preflight.sh FOLDER NODES [FILE OF THE JOB ...] [-- WORDS OF mpirun ...]
#
#   preflight.sh /shared/preflight/1 64 train.sh -- --hostfile hosts.txt
#   preflight.sh "$PWD/preflight-$SLURM_JOB_ID" "$SLURM_JOB_NUM_NODES" train.sh
#
# FOLDER lies on a file system that all hosts see; it is made, and must be empty: what an
# earlier run left there would stand for hosts that do not report today. Exit codes: those
# of `speccheck fleet` (0 go, 1 no-go, 2 usage, 3 inconclusive or hosts missing, 4 bug).
#
# The verdict is not that of mpirun. Open MPI 4.1 ends all processes when the first ends
# with anything but 0, so that the others report nothing; told not to by
# orte_abort_on_non_zero_status=0, it ends with 0 itself, whatever its processes ended
# with, and waits for ever when one is killed. So rank.sh ends with 0 always, and who left
# no result is missing, by number or by name.
#
# Settings, from the environment:
#   SPECCHECK_EXPECT   who must report: a number, names, @FILE     default: NODES
#   SPECCHECK_TIER     0, 1 or 2                                   default: 0
#   SPECCHECK_SECONDS  what a host may take                        default: 60
#   SPECCHECK_DRAIN    slurm, kubernetes, plain, also =FILE        default: plain
#   SPECCHECK_MPIRUN   the launcher                                default: mpirun

usage() {
  echo 'usage: preflight.sh FOLDER NODES [FILE OF THE JOB ...] [-- WORDS OF mpirun ...]' >&2
  [ -z "$1" ] || echo "preflight.sh: $1" >&2
  exit 2
}

[ "$#" -ge 2 ] || usage ''
results=$1 nodes=$2
shift 2
case $nodes in '' | 0* | *[!0-9]*) usage "NODES must be a whole number: $nodes" ;; esac
seconds=${SPECCHECK_SECONDS:-60}
case $seconds in
  '' | 0* | *[!0-9]*) usage "SPECCHECK_SECONDS must be a whole number: $seconds" ;;
esac
mpirun=${SPECCHECK_MPIRUN:-mpirun}
command -v "$mpirun" >/dev/null 2>&1 || usage "$mpirun is not there"
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 2

mkdir -p -- "$results" || exit 2
results=$(CDPATH='' cd -- "$results" && pwd) || exit 2
if [ -n "$(ls -A -- "$results")" ]; then
  usage "$results is not empty: results of an earlier run would count as of today"
fi
mkdir -- "$results/nodes" || exit 2

# Files of the job come first, words of mpirun after `--`. The list of words is turned
# round once: what is taken from its front is added, if at all, at its end.
count=$# files=$results/files
: >"$files"
while [ "$count" -gt 0 ] && [ "$1" != -- ]; do
  case $1 in
    /*) printf '%s\n' "$1" ;;
    *) printf '%s/%s\n' "$PWD" "$1" ;;
  esac >>"$files"
  shift
  count=$((count - 1))
done
[ "$count" -eq 0 ] || shift

# How the launcher is told that a process may be killed without ending the others:
# --enable-recovery of Open MPI 4 (mpirun, Fault tolerance), the runtime option
# recoverable of Open MPI 5 and PRRTE; MPICH and Intel MPI end all, and hosts are missing.
tolerant=
case $("$mpirun" --version 2>&1) in
  *'(Open MPI) '[1-4].*) tolerant='--enable-recovery' ;;
  *'(Open MPI) '*) tolerant='--runtime-options recoverable' ;;
esac
placement="--map-by ppr:1:node"
case $("$mpirun" --version 2>&1) in
  *'(Open MPI) '*) ;;
  *) placement="-ppn 1" ;; # Hydra
esac

# A launcher that does not end is ended: twice what a host may take, and a minute to
# start on all of them.
limit=$((2 * seconds + 60))
# shellcheck disable=SC2086  # words
timeout -k 10 "$limit" "$mpirun" -np "$nodes" $placement $tolerant "$@" \
  "$here/rank.sh" "$results/nodes" "$seconds" "${SPECCHECK_TIER:-0}" "$files"
code=$?
[ "$code" -eq 0 ] || echo "preflight.sh: $mpirun ended with $code" >&2

set -- "--expect=${SPECCHECK_EXPECT:-$nodes}" "--drain-list=${SPECCHECK_DRAIN:-plain}"
while IFS= read -r file; do
  set -- "$@" "--job=$file"
done <"$files"
speccheck fleet "$results/nodes" "$@"
