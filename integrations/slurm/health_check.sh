#!/bin/sh
# HealthCheckProgram of slurm.conf: judges this node from time to time.
#
# Slurm does not act on how this ends, so it drains by itself, with a reason that begins
# with "speccheck: ". It always ends with 0: releases of Slurm before 17.02.8 did not let
# a node register before its health check gave 0.
#
# It leaves alone what others did: a node that is drained or down keeps its state and its
# reason. Slurm's own "Prolog error" or "Epilog error" is replaced where the prolog or
# epilog of this folder left a note of why. A node comes back only by hand, or, with
# SPECCHECK_RESUME=yes, when it holds again and the reason is of these scripts.
#
# Settings besides those of adapter.sh and prolog.sh, all in the site's file as well:
#   SPECCHECK_HEALTH_SECONDS   the limit; Slurm kills after 60     default: 40
#   SPECCHECK_HEALTH_OPTIONS   words more for speccheck preflight
#   SPECCHECK_RESUME           no (default) | yes
#   SPECCHECK_MOST_DRAINED     with so many nodes of the cluster drained by these
#                              scripts no other is: so many of one fault are rather a
#                              mistake of settings. Default: a tenth, at least 4

PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
export PATH
here=$(dirname "$(readlink -f "$0")")
if [ ! -r "$here/node.sh" ] || [ ! -r "$here/../site.sh" ]; then
  echo "speccheck health check: $here/node.sh or ../site.sh is not there" >&2
  exit 0
fi
# too_many: whether the limit of drained nodes is reached; sets counted.
too_many() {
  counted=$(slurm sinfo -h -N -o '%N|%T|%E' 2>/dev/null | sort -u |
    awk -F '|' -v ours="$ours" -v most="${SPECCHECK_MOST_DRAINED:-}" '
      !seen[$1]++ { nodes++ }
      $2 ~ /^drain/ && index($3, ours) == 1 && !counted[$1]++ { drained++ }
      END {
        if (most !~ /^[0-9]+$/) { most = int(nodes / 10); if (most < 4) most = 4 }
        if (drained + 0 >= most + 0) print drained + 0 " of " nodes " nodes"
      }')
  [ -n "$counted" ]
}

# take_out: the verdict is against the node.
take_out() {
  case $state in
    drain* | drng* | down* | fail*)
      [ "$stated_reason" = "$ours$reason" ] ||
        say warning "no-go, and left as it is: $state, $stated_reason"
      return
      ;;
  esac
  if too_many; then
    say err "no-go, and not drained: $counted are drained already: $reason"
  elif [ -n "$stated_reason" ]; then
    drain "$stated_reason; $ours$reason" # what somebody wrote stays
  else
    drain "$ours$reason"
  fi
}

# explain: puts the note of a prolog where Slurm says only that one failed.
explain() {
  # One of an hour ago tells of another end.
  [ -n "$(find "$note" -mmin -60 2>/dev/null)" ] || return 1
  case $state:$stated_reason in
    drain*:[PpEe]rolog* | drain*:[Ee]pilog*) ;;
    *) return 1 ;;
  esac
  IFS= read -r why <"$note"
  slurm scontrol update "NodeName=$node" "Reason=$why" >&2 && rm -f "$note" &&
    say warning "the reason '$stated_reason' is now '$why'"
}

# bring_back: the node holds, and these scripts had taken it out.
bring_back() {
  [ "${SPECCHECK_RESUME:-no}" = yes ] && [ "$verdict" = go ] || return
  case $state:$stated_reason in
    drain*:"$ours"*)
      slurm scontrol update "NodeName=$node" State=RESUME >&2 &&
        say notice "resumed: it holds again, and was out for '$stated_reason'"
      ;;
  esac
}

# In a shell of its own: whatever ends it early, Slurm gets 0.
(
  # shellcheck source=integrations/slurm/node.sh
  . "$here/node.sh" || exit 91
  SPECCHECK_ROLE=health
  read_site_settings
  judge health "${SPECCHECK_HEALTH_SECONDS:-40}" "${SPECCHECK_HEALTH_OPTIONS:-}"
  answer=$?
  if ! ask_state; then
    [ "$answer" = 0 ] || say err "no-go, and the controller does not answer: $reason"
  elif explain; then
    :
  else
    case $answer in
      0) bring_back ;;
      1) take_out ;;
    esac
  fi
  exit 0
)
answer=$?
[ "$answer" = 0 ] || echo "speccheck health: ended with $answer: not judged" >&2
exit 0
