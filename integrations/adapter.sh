#!/bin/sh
# Runs speccheck for a scheduler: 0 lets the node work, 1 takes it out. Nothing else.
#
#   adapter.sh [WORDS OF SPECCHECK ...]        default: preflight
#
# Only a verdict against the node, exit code 1 of speccheck, blocks by itself. Whatever
# else happens - wrong usage, missing evidence, a bug of speccheck, a kill, no answer in
# time, no speccheck at all - follows the site's policy and is allowed by default: a
# mistake in a settings file must not drain a fleet. Each of these is said on standard
# error and in the node's log.
#
# Settings, from the environment or lines NAME=value of SPECCHECK_SITE_FILE
# (default /etc/speccheck/site.env):
#   SPECCHECK                  the program                       default: speccheck
#   SPECCHECK_OPTIONS          words more for it, split at blanks; globs are not expanded
#   SPECCHECK_SECONDS          it is ended after so long         default: 8
#   SPECCHECK_KILL_SECONDS     and killed so much later          default: 1
#   SPECCHECK_ON_USAGE         exit 2, or not installed          allow (default) | block
#   SPECCHECK_ON_INCONCLUSIVE  exit 3                            allow (default) | block
#   SPECCHECK_ON_BUG           exit 4, a signal, anything else,  allow (default) | block
#                              or exit 1 with no verdict in the report
#   SPECCHECK_ON_TIMEOUT       not done in time                  allow (default) | block
#   SPECCHECK_OUTPUT_BYTES     of the report that are passed on  default: 65536
#   SPECCHECK_VERDICT_FILE     gets two lines: the verdict - go, no-go, usage,
#                              inconclusive, bug, timeout, missing - and the reason
#
# POSIX sh, with awk, cut, head, mktemp, sed, timeout and tr.

# Schedulers may start this without a search path, or with one of their own.
PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
export PATH
set -f # words of options are split, and are no patterns

# What a verdict against the node ends the inner shell with: no shell ends so by itself,
# and whatever ends it early blocks nobody.
block=90

here=$(dirname "$(readlink -f "$0" 2>/dev/null || printf '%s\n' "$0")")
if [ ! -r "$here/site.sh" ]; then
  echo "speccheck adapter: $here/site.sh is not there: nothing was judged" >&2
  exit 0
fi

# policy NAME VALUE: prints allow or block; a word that is neither is allow, and said.
policy() {
  case $2 in
    '' | allow) echo allow ;;
    block) echo block ;;
    *)
      say warning "$1=$2 is neither allow nor block: allow it is"
      echo allow
      ;;
  esac
}

# reason_of REPORT: what stands against the node, in one line.
reason_of() {
  found=$(awk '
    /^error / { errors++; if (errors == 1) { $1 = ""; sub(/^ /, ""); told = $0 ":" } }
    errors == 1 && /^  / {
      if ($1 ~ /^(at|cost|do|fix|from)$/) errors++
      else { sub(/^ */, ""); told = told " " $0 }
    }
    END { if (told != "") print told }
  ' "$1" 2>/dev/null | one_line "$reason_characters")
  [ -n "$found" ] || found=$(
    sed -n '/^[a-z-]*: /p' "$1" 2>/dev/null | one_line "$reason_characters"
  )
  [ -n "$found" ] || found=$(one_line "$reason_characters" <"$1" 2>/dev/null)
  printf '%s\n' "${found:-no reason was given}"
}

# confirmed REPORT: that the report says no-go as well, in the forms text, concise, json,
# a result line or sarif. A Python that cannot import anything, and a shell, end with 1
# too; such an end is no verdict.
confirmed() {
  grep -q -e '^no-go' -e '^[a-z-]*: .*(exit 1)' -e '"exit_code": *1[,}]' \
    -e '"exitCode": *1[,}]' "$1" 2>/dev/null
}

# tell VERDICT REASON: keeps both, whole or not at all.
tell() {
  [ -n "${SPECCHECK_VERDICT_FILE:-}" ] || return 0
  { printf '%s\n%s\n' "$1" "$2" >"$SPECCHECK_VERDICT_FILE.$$" &&
    mv -f "$SPECCHECK_VERDICT_FILE.$$" "$SPECCHECK_VERDICT_FILE"; } 2>/dev/null ||
    say warning "cannot write $SPECCHECK_VERDICT_FILE"
}

# decide VERDICT POLICY-NAME POLICY-VALUE WHAT: ends the adapter.
decide() {
  answer=$(policy "$2" "$3")
  tell "$1" "$4"
  case $answer in
    block) say err "$4: blocks, as $2=block says" && leave "$block" ;;
    *) say warning "$4: allowed, as $2=$answer says; the node was not judged" ;;
  esac
  leave 0
}

leave() {
  [ -z "$folder" ] || rm -rf "$folder"
  exit "$1"
}

# judge WORDS: runs speccheck, and ends this shell with 0 or with $block.
judge() {
  read_site_settings
  : "${SPECCHECK_ROLE:=adapter}"
  program=${SPECCHECK:-speccheck}
  seconds=$(whole_seconds "${SPECCHECK_SECONDS:-}" 8 SPECCHECK_SECONDS)
  kill_seconds=$(whole_seconds "${SPECCHECK_KILL_SECONDS:-}" 1 SPECCHECK_KILL_SECONDS)
  bytes=$(whole_seconds "${SPECCHECK_OUTPUT_BYTES:-}" 65536 SPECCHECK_OUTPUT_BYTES)
  reason_characters=160
  [ "$#" -gt 0 ] || set -- preflight

  folder=
  for place in "${TMPDIR:-/tmp}" /dev/shm /run /var/tmp; do
    folder=$(mktemp -d "$place/speccheck-adapter.XXXXXXXX" 2>/dev/null) && break
    folder=
  done
  trap 'leave 0' HUP INT TERM # whoever ends this has not heard a verdict
  report=$folder/report errors=$folder/errors
  [ -n "$folder" ] || decide missing SPECCHECK_ON_USAGE "${SPECCHECK_ON_USAGE:-}" \
    "no folder for the report can be made in ${TMPDIR:-/tmp} or elsewhere"

  if ! command -v timeout >/dev/null 2>&1; then
    decide missing SPECCHECK_ON_USAGE "${SPECCHECK_ON_USAGE:-}" \
      "there is no program timeout, and nothing is run without a limit"
  fi

  # The report goes to a file and not through a pipe: a process that outlives the limit
  # and holds the pipe would hold this script as well. 64 MiB are enough of it.
  began=$(date +%s)
  # shellcheck disable=SC2086  # options are words
  (
    ulimit -f 131072 2>/dev/null
    exec timeout -k "$kill_seconds" "$seconds" \
      env NO_COLOR=1 FORCE_COLOR= "$program" "$@" ${SPECCHECK_OPTIONS:-}
  ) >"$report" 2>"$errors" </dev/null
  code=$?
  took=$(($(date +%s) - began))

  head -c "$bytes" "$report" 2>/dev/null
  head -c 4096 "$errors" >&2 2>/dev/null

  ended="after $took s"
  # A program that is killed after the limit gives 137 or 143, not always 124.
  case $code in 124 | 137 | 143) [ "$took" -lt "$seconds" ] || code=124 ;; esac
  case $code in
    0)
      tell go ""
      leave 0
      ;;
    1)
      confirmed "$report" ||
        decide bug SPECCHECK_ON_BUG "${SPECCHECK_ON_BUG:-}" \
          "exit 1 $ended without a verdict: $(one_line 120 <"$errors")"
      reason=$(reason_of "$report")
      tell no-go "$reason"
      say err "no-go: $reason"
      leave "$block"
      ;;
    2)
      decide usage SPECCHECK_ON_USAGE "${SPECCHECK_ON_USAGE:-}" \
        "wrong usage (exit 2 $ended): $(one_line 120 <"$errors")"
      ;;
    3)
      decide inconclusive SPECCHECK_ON_INCONCLUSIVE "${SPECCHECK_ON_INCONCLUSIVE:-}" \
        "inconclusive (exit 3 $ended): $(reason_of "$report")"
      ;;
    124)
      decide timeout SPECCHECK_ON_TIMEOUT "${SPECCHECK_ON_TIMEOUT:-}" \
        "no answer in $seconds s"
      ;;
    126 | 127)
      decide missing SPECCHECK_ON_USAGE "${SPECCHECK_ON_USAGE:-}" \
        "$program cannot be run (exit $code): $(one_line 120 <"$errors")"
      ;;
    4)
      decide bug SPECCHECK_ON_BUG "${SPECCHECK_ON_BUG:-}" \
        "a bug of speccheck (exit 4 $ended): $(one_line 120 <"$errors")"
      ;;
    *)
      decide bug SPECCHECK_ON_BUG "${SPECCHECK_ON_BUG:-}" \
        "ended by itself or by a signal (exit $code $ended): $(one_line 120 <"$errors")"
      ;;
  esac
}

trap 'exit 0' HUP INT TERM
(
  # shellcheck source=integrations/site.sh
  . "$here/site.sh" || exit 91
  judge "$@"
)
answer=$?
[ "$answer" != "$block" ] || exit 1
[ "$answer" = 0 ] || echo "speccheck adapter: ended with $answer: not judged" >&2
exit 0
