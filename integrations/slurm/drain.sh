#!/bin/sh
# Drains the nodes of a list that `speccheck fleet --drain-list slurm` wrote.
#
#   drain.sh [--dry-run] [--most N] [FILE|-]
#
# A line names nodes and why:
#   scontrol update NodeName=n[3,7] State=DRAIN Reason='GPU 5 has a row to remap'
#   n[3,7] GPU 5 has a row to remap
# Lines are read, never run; empty ones and those that begin with # are nothing. What is
# drained or down already keeps its state and its reason, so the same list twice is the
# list once. A list with more than --most nodes (default: a half of all) is refused as a
# whole: so many nodes at once are rather a mistake.
#
# Exit codes: 0 all of them are out of service; 1 scontrol refused some; 2 nothing was
# done, for the command line, the list or the controller is not as it must be.

PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
export PATH
set -f
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=integrations/site.sh
. "$here/../site.sh" || exit 2
SPECCHECK_ROLE=drain
read_site_settings

refuse() {
  printf 'drain.sh: %s\n' "$1" >&2
  [ -z "${folder:-}" ] || rm -rf "$folder"
  exit 2
}

dry_run='' most='' list=-
while [ "$#" -gt 0 ]; do
  case $1 in
    --dry-run) dry_run=yes ;;
    --most)
      most=${2:-}
      case $most in '' | *[!0-9]*) refuse "--most needs a number" ;; esac
      shift
      ;;
    -h | --help)
      sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    -?*) refuse "no option $1: see --help" ;;
    *) list=$1 ;;
  esac
  shift
done
[ "$list" = - ] || [ -r "$list" ] || refuse "cannot read $list"

folder=$(mktemp -d) || refuse "no folder for temporary files"
trap 'rm -rf "$folder"; exit 2' HUP INT TERM
limit=$(whole_seconds "${SPECCHECK_SLURM_SECONDS:-}" 30 SPECCHECK_SLURM_SECONDS)
timeout -k 1 "$limit" sinfo -h -N -o '%N|%T|%E' 2>/dev/null | LC_ALL=C sort -u \
  >"$folder/nodes"
[ -s "$folder/nodes" ] || refuse "sinfo told of no node: is the controller there?"

# Lines of the list as "nodes|reason"; of one that is neither form, its number. The
# reason comes last in a line, quoted as a shell would quote it or not at all.
cat -- "$list" | awk '
  function unquoted(text, quote) {
    quote = substr(text, 1, 1)
    if (length(text) > 1 && (quote == "\047" || quote == "\"") &&
        substr(text, length(text)) == quote) text = substr(text, 2, length(text) - 2)
    gsub(/\047"\047"\047/, "\047", text)
    return text
  }
  { sub(/[ \t\r]+$/, ""); sub(/^[ \t]+/, ""); line = $0; lower = tolower($0) }
  line == "" || line ~ /^#/ { next }
  lower ~ /^scontrol[ \t]+update[ \t]/ {
    nodes = ""; why = ""
    if (match(lower, /nodename=[^ \t\047"]*/))
      nodes = substr(line, RSTART + 9, RLENGTH - 9)
    if (at = match(lower, /[ \t]reason=/)) {
      why = unquoted(substr(line, at + 8)); lower = substr(lower, 1, at)
    }
    if (nodes == "" || lower !~ /[ \t]state=drain([ \t]|$)/) print "?" NR
    else print nodes "|" why
    next
  }
  { nodes = $1; sub(/^[^ \t]+[ \t]*/, "", line); print nodes "|" line }
' >"$folder/list"

# Each node once: "node|reason", after Slurm has unfolded the names.
: >"$folder/wanted"
while IFS='|' read -r nodes why; do
  case $nodes in
    \?*) refuse "line ${nodes#\?} drains nothing: $list" ;;
    *[!A-Za-z0-9_.,:[\]-]*)
      refuse "no list of nodes: $(printf '%s\n' "$nodes" | one_line 60)"
      ;;
  esac
  names=$(timeout -k 1 "$limit" scontrol show hostnames "$nodes" 2>/dev/null)
  [ -n "$names" ] || refuse "no list of nodes: $nodes"
  why=$(printf '%s\n' "$why" | one_line 200)
  # By this beginning a health check knows that what it sees alone does not end this.
  why=${why#speccheck: }
  why="speccheck fleet: ${why#speccheck fleet: }"
  for name in $names; do
    printf '%s|%s\n' "$name" "$why" >>"$folder/wanted"
  done
done <"$folder/list"

# What is to be done with each, and whether that is too much.
awk -F '|' '
  NR == FNR {
    if (!($1 in state)) { sub(/[^a-z]+$/, "", $2); state[$1] = $2; stated[$1] = $3 }
    next
  }
  seen[$1]++ { next }
  !($1 in state) { print "unknown|" $1; next }
  state[$1] ~ /^(drain|drng|down|fail)/ {
    print "out|" $1 "|" state[$1] ", " stated[$1]; next
  }
  { print "drain|" $1 "|" $2 }
' "$folder/nodes" "$folder/wanted" >"$folder/plan"

unknown=$(awk -F '|' '$1 == "unknown" { printf "%s ", $2 }' "$folder/plan")
[ -z "$unknown" ] || refuse "Slurm knows no node ${unknown% }"
all=$(cut -d '|' -f 1 "$folder/nodes" | sort -u | wc -l)
count=$(grep -c '^drain' "$folder/plan")
[ -n "$most" ] || most=$(((all + 1) / 2))
[ "$count" -le "$most" ] ||
  refuse "$count of $all nodes are to be drained, at most $most may be: see --most"

failed=0
while IFS='|' read -r action name why; do
  if [ "$action" = out ]; then
    printf '%s: left as it is: %s\n' "$name" "$why"
  elif [ -n "$dry_run" ]; then
    printf 'scontrol update NodeName=%s State=DRAIN Reason="%s"\n' "$name" "$why"
  elif timeout -k 1 "$limit" scontrol update \
    "NodeName=$name" State=DRAIN "Reason=$why" </dev/null >&2; then
    printf '%s: drained: %s\n' "$name" "$why"
  else
    printf '%s: not drained: scontrol refused\n' "$name" >&2
    failed=1
  fi
done <"$folder/plan"
rm -rf "$folder"
exit "$failed"
