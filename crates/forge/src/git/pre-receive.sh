#!/bin/sh
# Enforces branch protection. FORGE_PROTECTED has one line for each protected branch: its ref and letters.
#   f  no force-push    d  no deletion    p  changes only through pull requests
zero=0000000000000000000000000000000000000000
refused=0

refuse() {
  echo "error: GH006: Protected branch update failed for $1." >&2
  echo "error: $2" >&2
  refused=1
}

while read -r old new ref; do
  # Programs would take such names for options; the API refuses them too.
  case $old$ref in
    "${zero}refs/heads/-"* | "${zero}refs/tags/-"*)
      echo "error: $ref: the name of a branch or tag must not begin with a dash" >&2
      refused=1
      continue ;;
  esac
  rules=$(printf '%s\n' "$FORGE_PROTECTED" | while read -r name letters; do
    if [ "$name" = "$ref" ]; then printf '%s' "$letters"; fi
  done)
  if [ -z "$rules" ] || [ "$old" = "$zero" ]; then continue; fi
  if [ "$new" = "$zero" ]; then
    case $rules in *d*) refuse "$ref" "Cannot delete this protected branch" ;; esac
    continue
  fi
  case $rules in *p*) refuse "$ref" "Changes must be made through a pull request." ;; esac
  case $rules in *f*)
    if ! git merge-base --is-ancestor "$old" "$new"; then
      refuse "$ref" "Cannot force-push to this branch"
    fi ;;
  esac
done
exit "$refused"
