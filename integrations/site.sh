# shellcheck shell=sh
# What the scripts of this folder share: the site's settings, and how they speak.
#
# Sourced, never run. Nothing in it may end the shell: a script of a scheduler that ends
# with anything but 0 takes a node out of service.

# say LEVEL TEXT: one line for whoever started this, and for the node's log.
say() {
  printf 'speccheck %s: %s\n' "${SPECCHECK_ROLE:-adapter}" "$2" >&2
  if command -v logger >/dev/null 2>&1; then
    # Bounded: a log that hangs must not hold a prolog.
    timeout 2 logger -t speccheck -p "user.$1" -- \
      "${SPECCHECK_ROLE:-adapter}: $2" >/dev/null 2>&1
  fi
  return 0
}

# read_site_settings: lines NAME=value of the site's file become variables, unless the
# environment has them already. The file is read, not run: a slip in it drains no node.
read_site_settings() {
  site_file=${SPECCHECK_SITE_FILE:-/etc/speccheck/site.env}
  if [ ! -r "$site_file" ]; then
    [ -z "${SPECCHECK_SITE_FILE:-}" ] ||
      say warning "cannot read $site_file: every setting is the default"
    return 0
  fi
  site_line_number=0
  while IFS= read -r site_line || [ -n "$site_line" ]; do
    site_line_number=$((site_line_number + 1))
    take_setting "$site_line" ||
      say warning "$site_file:$site_line_number: no NAME=value: left out"
  done <"$site_file"
  return 0
}

# take_setting LINE: 1 for a line that is none.
take_setting() {
  case $1 in
    '' | '#'*) return 0 ;;
    *=*) ;;
    *) return 1 ;;
  esac
  setting_name=${1%%=*}
  setting_value=${1#*=}
  case $setting_name in
    '' | [!A-Za-z_]* | *[!A-Za-z0-9_]*) return 1 ;;
  esac
  case $setting_value in
    \"*\") setting_value=${setting_value#\"} setting_value=${setting_value%\"} ;;
    \'*\') setting_value=${setting_value#\'} setting_value=${setting_value%\'} ;;
  esac
  if [ "$setting_name" = PATH ]; then
    # A prolog of Slurm has no search path, or that of a daemon: the site's is better.
    PATH=$setting_value
    export PATH
  elif eval "[ -z \"\${$setting_name+set}\" ]"; then
    # The name is letters, digits and underscores; the value is not evaluated.
    eval "$setting_name=\$setting_value"
    # shellcheck disable=SC2163  # the variable of that name is meant
    export "$setting_name"
  fi
}

# whole_seconds VALUE DEFAULT NAME: the value if it is a number of seconds above zero.
whole_seconds() {
  case $1 in
    '') printf '%s\n' "$2" ;;
    0* | *[!0-9]* | ??????*)
      say warning "$3=$1 is no whole number of seconds: $2 it is"
      printf '%s\n' "$2"
      ;;
    *) printf '%s\n' "$1" ;;
  esac
}

# one_line LENGTH: the first line of the input, in printable ASCII, and no longer.
# Quotes and bars go: what comes of it stands between quotes of other programs.
one_line() {
  # Tab, quotes, bar, dollar and backslash, as octal numbers.
  LC_ALL=C tr '\011\042\140\174\044\134' '\040\047\047\057\040\040' |
    LC_ALL=C tr -cd '\n[:print:]' |
    LC_ALL=C sed -n -e 's/  */ /g' -e 's/^ //' -e 's/ $//' -e '/./{p;q;}' |
    cut -c "1-$1"
}
