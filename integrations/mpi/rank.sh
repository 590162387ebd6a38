#!/bin/sh
# One host of preflight.sh: judges it, leaves snapshot and result, and ends with 0.
#
#   rank.sh FOLDER SECONDS TIER FILE-WITH-NAMES-OF-FILES
#
# Anything but 0 would make most launchers end the processes of the other hosts.

if [ "$#" -ne 4 ]; then
  echo 'usage: rank.sh FOLDER SECONDS TIER FILE' >&2
  exit 0
fi
folder=$1 seconds=$2 tier=$3 files=$4
set -- # the files of the job
while IFS= read -r file; do
  set -- "$@" "$file"
done <"$files"
# speccheck ends itself before timeout does.
timeout -k 5 "$seconds" speccheck preflight "$@" "--tier=$tier" \
  "--budget=$((seconds > 10 ? seconds - 5 : seconds))" \
  "--out=$folder/" "--result=$folder/" --output=concise
code=$?
[ "$code" -eq 0 ] || echo "rank.sh: speccheck ended with $code on $(uname -n)" >&2
exit 0
