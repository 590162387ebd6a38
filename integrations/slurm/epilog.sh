#!/bin/sh
# Epilog of slurm.conf: judges this node when a job has left it.
#
# Exit 1, only for a verdict against the node: Slurm drains it, and the next job does not
# begin where the last one broke something. The job that has ended is not touched.
#
# No command of Slurm is called, as in prolog.sh, unless SPECCHECK_REASON=scontrol.
# Settings: those of prolog.sh, and
#   SPECCHECK_EPILOG_SECONDS   the limit                           default: 8
#   SPECCHECK_EPILOG_OPTIONS   words more for speccheck preflight

PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
export PATH
here=$(dirname "$(readlink -f "$0")")
if [ ! -r "$here/node.sh" ] || [ ! -r "$here/../site.sh" ]; then
  echo "speccheck epilog: $here/node.sh or ../site.sh is not there" >&2
  exit 0
fi

# In a shell of its own, with an answer that no shell gives by itself: whatever ends it
# early - a slip in these files, a shell that is stricter - takes no node out.
block=90
(
  # shellcheck source=integrations/slurm/node.sh
  . "$here/node.sh" || exit 91
  SPECCHECK_ROLE=epilog
  read_site_settings
  judge epilog "${SPECCHECK_EPILOG_SECONDS:-8}" "${SPECCHECK_EPILOG_OPTIONS:-}"
  case $? in
    0) exit 0 ;;
    1) ;;
    *) exit 91 ;;
  esac
  keep_note
  [ "${SPECCHECK_REASON:-note}" != scontrol ] || drain "$ours$reason"
  exit "$block"
)
answer=$?
[ "$answer" != "$block" ] || exit 1
[ "$answer" = 0 ] || echo "speccheck epilog: ended with $answer: not judged" >&2
exit 0
