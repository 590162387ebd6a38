#!/bin/sh
# Judges the last whole round of periodic.sh, and removes rounds that are too old.
#
#   last-round.sh FOLDER SECONDS WORDS OF SPECCHECK FLEET ...
#
# Its exit code is that of speccheck fleet; 3 where nobody looked in that round.
# SPECCHECK_KEEP_ROUNDS: so many are kept (default 168).

if [ "$#" -lt 2 ]; then
  echo 'usage: last-round.sh FOLDER SECONDS WORDS OF SPECCHECK FLEET ...' >&2
  exit 2
fi
folder=$1 seconds=$2
shift 2
case $seconds in
  0* | *[!0-9]* | '')
    echo "last-round.sh: SECONDS must be a whole number above zero: $seconds" >&2
    exit 2
    ;;
esac
last=$(($(date +%s) / seconds - 1))
oldest=$((last - ${SPECCHECK_KEEP_ROUNDS:-168}))
for one in "$folder"/round-*/; do
  number=${one%/} number=${number##*/round-}
  case $number in '' | *[!0-9]*) continue ;; esac
  [ "$number" -ge "$oldest" ] || rm -rf "${one%/}"
done
if [ ! -d "$folder/round-$last" ]; then
  echo "$folder/round-$last is not there: no node looked in that round" >&2
  exit 3
fi
exec speccheck fleet "$folder/round-$last" "$@"
