#!/bin/sh
# Judges this node, then becomes the training command: go, or no training.
#
#   preflight.sh [FILE OF THE JOB ...] -- COMMAND OF THE TRAINING ...
#
#   preflight.sh train.py.yaml -- torchrun --nnodes 4 --nproc-per-node 8 train.py
#
# It stands where the engine starts one process a node, in front of torchrun: in a batch
# script, in a pod, behind clush. As the program of `torchrun --no-python` it works too:
# the first process of each node looks, and the others wait for it where the ranks meet.
#
# Only a verdict against the node, exit code 1, keeps the training from starting; whatever
# else happens follows SPECCHECK_ON_USAGE, SPECCHECK_ON_INCONCLUSIVE, SPECCHECK_ON_BUG and
# SPECCHECK_ON_TIMEOUT (../adapter.sh). A node that does not train leaves the others at
# the rendezvous: torchrun ends them after its timeout.
#
# Settings, from the environment:
#   SPECCHECK_RESULTS  a folder for snapshot and result of each node  default: none
#   SPECCHECK_TIER     0, 1 or 2                                      default: 0
#   SPECCHECK_SECONDS  what the look may take                         default: 60

usage() {
  echo 'usage: preflight.sh [FILE OF THE JOB ...] -- COMMAND OF THE TRAINING ...' >&2
  exit 2
}

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 2
adapter=${SPECCHECK_ADAPTER:-$here/../adapter.sh}
: "${SPECCHECK_SECONDS:=60}"
export SPECCHECK_SECONDS

# judge WORDS ...: the node, with the files of the job, which are the words before `--`.
judge() {
  count=$# is_file=yes
  while [ "$count" -gt 0 ]; do
    [ "$1" != -- ] || is_file=
    # To the end of the list, or out of it.
    [ -z "$is_file" ] || set -- "$@" "$1"
    shift
    count=$((count - 1))
  done
  set -- preflight "$@" "--tier=${SPECCHECK_TIER:-0}" \
    "--budget=$((SPECCHECK_SECONDS > 10 ? SPECCHECK_SECONDS - 5 : SPECCHECK_SECONDS))"
  if [ -n "${SPECCHECK_RESULTS:-}" ]; then
    set -- "$@" "--out=$SPECCHECK_RESULTS/" "--result=$SPECCHECK_RESULTS/"
  fi
  "$adapter" "$@"
}

training=
for word in "$@"; do
  [ -z "$training" ] || training=there
  [ "$word" != -- ] || training=${training:-next}
done
[ "$training" = there ] || usage

# Where torchrun started this itself, one process of each node looks.
if [ "${LOCAL_RANK:-0}" = 0 ]; then
  judge "$@" || exit
fi
while [ "$#" -gt 0 ] && [ "$1" != -- ]; do
  shift
done
shift
exec "$@"
