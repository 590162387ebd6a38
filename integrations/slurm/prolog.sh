#!/bin/sh
# Prolog of slurm.conf: judges this node before a job starts on it.
#
# Exit 1, only for a verdict against the node: Slurm drains it, and requeues the job.
# Everything else lets the job start, unless the site's policy (adapter.sh) blocks it.
#
# Slurm's guide asks that a prolog calls no command of Slurm, so by default none is: the
# reason goes to SPECCHECK_STATE, and the next health check puts it in the place of
# Slurm's "Prolog error". SPECCHECK_REASON=scontrol sets it at once, with one call, on
# nodes that are taken out only.
#   https://slurm.schedmd.com/prolog_epilog.html
#
# Settings besides those of adapter.sh, all in the site's file as well:
#   SPECCHECK_PROLOG_SECONDS   the limit; below MessageTimeout     default: 8
#   SPECCHECK_PROLOG_OPTIONS   words more for speccheck preflight
#   SPECCHECK_REASON           note (default) | scontrol
#   SPECCHECK_STATE            notes, verdicts and reports         default: /run/speccheck
#   SPECCHECK_SLURM_SECONDS    the limit of a command of Slurm     default: 5

PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
export PATH
here=$(dirname "$(readlink -f "$0")")
if [ ! -r "$here/node.sh" ] || [ ! -r "$here/../site.sh" ]; then
  echo "speccheck prolog: $here/node.sh or ../site.sh is not there" >&2
  exit 0
fi

# In a shell of its own, with an answer that no shell gives by itself: whatever ends it
# early - a slip in these files, a shell that is stricter - takes no node out.
block=90
(
  # shellcheck source=integrations/slurm/node.sh
  . "$here/node.sh" || exit 91
  SPECCHECK_ROLE=prolog
  read_site_settings
  judge prolog "${SPECCHECK_PROLOG_SECONDS:-8}" "${SPECCHECK_PROLOG_OPTIONS:-}"
  case $? in
    0)
      rm -f "$note"
      exit 0
      ;;
    1) ;;
    *) exit 91 ;;
  esac
  keep_note
  [ "${SPECCHECK_REASON:-note}" != scontrol ] || drain "$ours$reason"
  exit "$block"
)
answer=$?
[ "$answer" != "$block" ] || exit 1
[ "$answer" = 0 ] || echo "speccheck prolog: ended with $answer: not judged" >&2
exit 0
