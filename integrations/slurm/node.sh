# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154  # variables go from and to those who source this
# What prolog, epilog and health check share. Sourced, never run; `here` is set before.
#
# Nothing in it may end the shell: what a prolog ends with drains the node.

# shellcheck source=integrations/site.sh
. "$here/../site.sh" || return 91

# The beginning of a reason of these scripts; one of another's never begins so.
ours="speccheck: "

# judge ROLE SECONDS OPTIONS: judges this node; 1 only for an answer against it.
# Sets node, note, verdict and reason. Report, snapshot and result line stay there.
judge() {
  SPECCHECK_ROLE=$1
  node=${SLURMD_NODENAME:-$(hostname -s 2>/dev/null || uname -n)}
  kept=${SPECCHECK_STATE:-/run/speccheck}
  note=$kept/$node.note
  verdict='' reason=''
  mkdir -p "$kept" 2>/dev/null
  # Jobs that share a node have their prologs at the same time.
  own=$kept/.$node.$1.$$
  files="--out $kept/ --result $kept/"
  # Not with `:`, which POSIX lets end the shell when it cannot write.
  { printf '' >"$own.report"; } 2>/dev/null || own='' files=''
  seconds=$(whole_seconds "$2" 8 "the limit of the $1")
  # It is to end by itself before it is ended: then it can say what it has not seen.
  budget=$((seconds > 3 ? seconds - 2 : 1))
  SPECCHECK_ROLE=$1 SPECCHECK_SECONDS=$seconds \
    SPECCHECK_VERDICT_FILE=${own:+$own.verdict} \
    SPECCHECK_OPTIONS="$files ${SPECCHECK_OPTIONS:-} $3" \
    "$here/../adapter.sh" preflight --tier 0 --budget "${budget}s" \
    >"${own:-/dev/null}${own:+.report}"
  answer=$?
  if [ -n "$own" ]; then
    {
      IFS= read -r verdict
      IFS= read -r reason
    } 2>/dev/null <"$own.verdict"
    mv -f "$own.report" "$kept/$node.$1.report"
    mv -f "$own.verdict" "$kept/$node.$1.verdict" 2>/dev/null
  fi
  : "${reason:=no reason could be kept in $kept}"
  case $answer in
    0 | 1) return "$answer" ;;
    *)
      say warning "the adapter ended with $answer: the node was not judged"
      return 0
      ;;
  esac
}

# keep_note: why the node was taken out, for whoever asks on the node, and for the
# health check, which puts it where Slurm says only that a prolog failed.
keep_note() {
  { printf '%s%s (%s of job %s)\n' "$ours" "$reason" "$SPECCHECK_ROLE" \
    "${SLURM_JOB_ID:-?}" >"$note.part" && mv -f "$note.part" "$note"; } 2>/dev/null ||
    say warning "cannot write $note"
}

# slurm COMMAND ...: asks the controller, and does not wait for it for ever.
slurm() {
  patience=$(whole_seconds "${SPECCHECK_SLURM_SECONDS:-}" 5 SPECCHECK_SLURM_SECONDS)
  timeout -k 1 "$patience" "$@"
}

# drain REASON: takes this node out of service.
drain() {
  if slurm scontrol update "NodeName=$node" State=DRAIN "Reason=$1" >&2; then
    say warning "drained: $1"
  else
    say err "scontrol did not drain the node: $1"
  fi
}

# ask_state: sets state and stated_reason as the controller has them; 1 for no answer.
ask_state() {
  told=$(slurm sinfo -h -n "$node" -o '%T|%E' 2>/dev/null | sed -n 1p)
  case $told in *'|'*) ;; *) return 1 ;; esac
  state=${told%%'|'*}
  state=${state%%[!a-z]*} # without a mark, such as that of no answer
  stated_reason=${told#*'|'}
  [ "$stated_reason" != none ] || stated_reason=
}
