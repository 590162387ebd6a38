#!/bin/sh
# Waits until so many nodes have left a result below a folder, or patience ends.
#
#   wait.sh FOLDER NODES SECONDS
#
# The results of one job lie in one folder below FOLDER. Exit codes: 0 judge what is
# there, also when nodes are missing: who is missing is for `speccheck fleet` to say;
# 2 wrong usage, or FOLDER holds the results of two jobs, of which those of the older
# would stand for nodes that did not report to the newer.

if [ "$#" -ne 3 ]; then
  echo 'usage: wait.sh FOLDER NODES SECONDS' >&2
  exit 2
fi
folder=$1 nodes=$2 seconds=$3
case $nodes$seconds in
  *[!0-9]* | '')
    echo "wait.sh: NODES and SECONDS must be whole numbers: $nodes $seconds" >&2
    exit 2
    ;;
esac

# lines_of WORDS OF FIND: how many things it finds; 0 where the folder is not there yet.
lines_of() {
  find "$folder" -mindepth 1 "$@" 2>/dev/null | wc -l
}

deadline=$(($(date +%s) + seconds))
while :; do
  jobs=$(lines_of -maxdepth 1 -type d)
  if [ "$jobs" -gt 1 ]; then
    echo "$folder holds the results of $jobs jobs; give this run a name of its own" >&2
    exit 2
  fi
  told=$(lines_of -maxdepth 2 -name '*.result.json' -type f)
  if [ "$told" -ge "$nodes" ]; then
    echo "$told of $nodes nodes have told"
    exit 0
  fi
  if [ "$(date +%s)" -ge "$deadline" ]; then
    echo "$told of $nodes nodes have told after $seconds s" >&2
    exit 0
  fi
  sleep "${SPECCHECK_POLL_SECONDS:-2}"
done
