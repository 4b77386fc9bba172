#!/bin/sh
# The scripted agent of `pilot demo`: reads the task on standard input, changes the project, commits, and says what it does
# the way an agent does: a line of JSON each, with Pilot's signals in its words.
task=$(cat)

# A machine that is only tried out may have no name for commits yet.
export GIT_AUTHOR_NAME='Demo agent' GIT_AUTHOR_EMAIL=agent@example.org
export GIT_COMMITTER_NAME='Demo agent' GIT_COMMITTER_EMAIL=agent@example.org

say() {
  printf '{"type":"assistant","message":{"id":"m%s","content":[{"type":"text","text":"%s"}]},"session_id":"demo"}\n' "$1" "$2"
}
phase() {
  say "$1" "$4\\n\`\`\`pilot-signal\\n{\\\"v\\\":2,\\\"type\\\":\\\"status\\\",\\\"phase\\\":\\\"$2\\\",\\\"progress\\\":$3}\\n\`\`\`\\n"
}
# A run that was cut off may have left all of it.
commit() {
  git add -A || exit 1
  git diff --cached --quiet || git commit -q -m "$1" || exit 1
}

printf '{"type":"system","subtype":"init","session_id":"demo","model":"scripted"}\n'
phase 1 RESEARCH 25 "Reading the project."
case "$task" in
*"Fix CI: "*)
  phase 2 IMPL 50 "CI says that the shout is not loud enough."
  printf '#!/bin/sh\n# Shouts a greeting.\nsh greet.sh "$1" | tr a-z A-Z\n' >shout.sh
  commit "fix: shout in capital letters"
  ;;
*"Shout the greeting"*)
  phase 2 IMPL 50 "Writing shout.sh."
  printf '#!/bin/sh\n# Shouts a greeting.\nsh greet.sh "$1"\n' >shout.sh
  commit "feat: shout the greeting"
  ;;
*"Say how to use it"*)
  phase 2 IMPL 50 "Describing the greeting."
  grep -qs '^## Use$' README.md || printf '\n## Use\n\n    sh greet.sh Ada\n' >>README.md
  commit "docs: say how to use it"
  ;;
*"Greet people by name"*)
  phase 2 IMPL 50 "Teaching greet.sh a name."
  printf '#!/bin/sh\n# Greets a person, or the world.\necho "Hello, ${1:-world}!"\n' >greet.sh
  commit "feat: greet people by name"
  ;;
*)
  say 2 "DECLINED: this is the scripted agent of the demo, and it knows the demo's issues only"
  printf '{"type":"result","subtype":"success","is_error":false,"result":"DECLINED: this is the scripted agent of the demo, and it knows the demo'"'"'s issues only","session_id":"demo"}\n'
  exit 0
  ;;
esac
phase 3 VERIFY 80 "Trying it."
sh greet.sh >/dev/null || exit 1
printf '{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"demo","total_cost_usd":0.0123,"usage":{"input_tokens":1200,"output_tokens":340,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}}\n'
