#!/bin/sh
# Pre-flight of hosts that ClusterShell or pdsh reaches: one process a host, result
# lines on standard output, one verdict on all.
#
#   preflight.sh FILE HOSTS [WORDS OF speccheck preflight ...]
#
#   preflight.sh results.jsonl 'node[001-064]' --tier 0
#
# FILE gets the result lines, which need no file system that all hosts share; it must
# not be there yet. Every host of HOSTS is expected, by the name that it gives itself
# (hostname). Exit codes: those of `speccheck fleet` (0 go, 1 no-go, 2 usage, 3
# inconclusive or hosts missing, 4 bug).
#
# Settings, from the environment:
#   SPECCHECK_RUNNER   clush or pdsh              default: clush where it is, else pdsh
#   SPECCHECK_RUNNER_OPTIONS   words for it: -R ssh, --fanout 256, ...
#   SPECCHECK          the program on the hosts   default: speccheck
#   SPECCHECK_SECONDS  what a host may take       default: 60
#   SPECCHECK_EXPECT   who must report: a number where hosts call themselves otherwise
#                      than HOSTS does, names, @FILE   default: HOSTS
#   SPECCHECK_DRAIN    slurm, kubernetes, plain   default: plain

usage() {
  echo 'usage: preflight.sh FILE HOSTS [WORDS OF speccheck preflight ...]' >&2
  [ -z "$1" ] || echo "preflight.sh: $1" >&2
  exit 2
}

[ "$#" -ge 2 ] || usage ''
lines=$1 hosts=$2
shift 2
seconds=${SPECCHECK_SECONDS:-60}
case $seconds in
  '' | 0* | *[!0-9]*) usage "SPECCHECK_SECONDS must be a whole number: $seconds" ;;
esac
[ ! -e "$lines" ] || usage "$lines is there already: lines of today would follow it"
runner=${SPECCHECK_RUNNER:-}
if [ -z "$runner" ]; then
  runner=pdsh
  command -v clush >/dev/null 2>&1 && runner=clush
fi
command -v "$runner" >/dev/null 2>&1 || usage "$runner is not there"

# The words reach a shell on each host: quoted for it. With `--result=-` standard output
# is the result line alone; what a shell of the host prints before it is not kept.
words=
for word in "$@"; do
  words="$words '$(printf '%s' "$word" | sed "s/'/'\\\\''/g")'"
done
command="timeout -k 5 $seconds ${SPECCHECK:-speccheck} preflight$words --result=-"

# Both end the command of a host after so long, and print lines as they are, without the
# name of the host before them. What a host ends with is in its line.
# shellcheck disable=SC2086  # options are words
timeout -k 10 $((2 * seconds + 60)) "$runner" -w "$hosts" -N -u $((seconds + 10)) \
  ${SPECCHECK_RUNNER_OPTIONS:-} "$command" </dev/null |
  grep -e '"speccheck-node-result/1"' >"$lines.part"
mv -- "$lines.part" "$lines" || exit 2
speccheck fleet "$lines" "--expect=${SPECCHECK_EXPECT:-$hosts}" \
  "--drain-list=${SPECCHECK_DRAIN:-plain}"
