#!/bin/sh
# Judges this node once in every round of so many seconds, until it is ended.
#
#   periodic.sh FOLDER SECONDS WORDS OF SPECCHECK ...
#
# Rounds are counted from the epoch, so that all nodes mean the same one, and each has a
# folder below FOLDER. A node begins at an offset of its own, made of its name: thousands
# do not write at once. The verdict is in the result; nothing is done about it here.
# SPECCHECK_DEADLINE ends one look (seconds, default 90); SPECCHECK_ROUNDS ends this after
# so many rounds (default: never).

if [ "$#" -lt 3 ]; then
  echo 'usage: periodic.sh FOLDER SECONDS WORDS OF SPECCHECK ...' >&2
  exit 2
fi
folder=$1 seconds=$2
shift 2
case $seconds in
  0* | *[!0-9]* | '')
    echo "periodic.sh: SECONDS must be a whole number above zero: $seconds" >&2
    exit 2
    ;;
esac
deadline=${SPECCHECK_DEADLINE:-90}
rounds=${SPECCHECK_ROUNDS:--1}
name=$(printf '%s' "${NODE_NAME:-$(hostname)}" | cksum | cut -d ' ' -f 1)
# In the first half, so that a round has ended when the next one begins.
offset=$((name % (seconds / 2 + 1)))

# nap SECONDS: a sleep that TERM ends at once, as this shell is the first of its pod.
trap 'exit 0' TERM INT
nap() {
  sleep "$1" &
  wait "$!"
}

done_until=0
while [ "$rounds" -ne 0 ]; do
  now=$(date +%s)
  round=$((now / seconds))
  begin=$((round * seconds + offset))
  if [ "$round" -le "$done_until" ]; then
    nap $(((round + 1) * seconds + offset - now))
    continue
  fi
  [ "$now" -ge "$begin" ] || nap $((begin - now))
  here=$folder/round-$round/
  mkdir -p "$here" || echo "periodic.sh: cannot make $here" >&2
  # Beside jobs: it takes what they leave.
  nice -n 19 timeout --kill-after=10 "$deadline" \
    speccheck "$@" --out="$here" --result="$here" &
  wait "$!"
  echo "round $round: speccheck ended with $?"
  done_until=$round rounds=$((rounds - 1))
done
