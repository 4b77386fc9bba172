// Checks the forge against GitHub's description, client and schemas; see .ci/forge/run.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { client } from './client.mjs'
import { exercise } from './exercise.mjs'
import { journey } from './journey.mjs'
import { endAll, forge, program } from './server.mjs'
import { describe, routes } from './spec.mjs'
import { receiver } from './webhooks.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const complaints = []
const started = Date.now()
const say = (words) => console.log(`${((Date.now() - started) / 1000).toFixed(1).padStart(5)}s  ${words}`)
const collect = (what, list) => {
  say(`${what}: ${list.length === 0 ? 'none' : list.length}`)
  for (const each of list) complaints.push(`${what}: ${each}`)
}

try {
  const table = routes(process.env.FORGE_API)
  const spec = join(here, 'forge-openapi.json')
  collect('routes that GitHub does not have', describe(join(here, 'node_modules/@octokit/openapi/generated/api.github.com.json'), spec, table))

  const server = await forge('--lags', 'none', '--rate-limit', '1000000')
  const port = 20000 + (process.pid % 20000)
  await program(process.execPath, [join(here, 'node_modules/@stoplight/prism-cli/dist/index.js'), 'proxy', spec, server.url, '--errors', '--port', String(port)], 'is listening')
  say('prism stands in front of the forge')

  const hooks = await receiver()
  const admin = client(server.url, server.token)
  const api = client(`http://127.0.0.1:${port}`, server.token)
  try {
    await exercise({ api, admin, hooks })
  } finally {
    collect('violations of the description', api.violations)
    collect('unexpected answers', [...api.unexpected, ...admin.unexpected])
  }

  const { requests } = await admin.get('/_forge/requests')
  const called = new Set(requests.map((each) => `${each.method} ${each.route}`))
  const missed = table.filter(({ method, pattern }) => !called.has(`${method} ${pattern}`))
  say(`${requests.length} requests to ${called.size} of ${table.length} routes`)
  collect('routes that were not called', missed.map(({ method, pattern }) => `${method} ${pattern}`))

  say(`webhooks: ${[...hooks.seen].sort().map(([name, count]) => `${name} ${count}`).join(', ')}`)
  const sent = ['ping', 'push', 'create', 'delete', 'issues.opened', 'issues.labeled', 'issue_comment.created', 'pull_request.opened',
    'pull_request.closed', 'pull_request_review.submitted', 'pull_request_review_comment.created', 'check_run.completed', 'check_suite.completed',
    'status', 'workflow_run.completed', 'release.published']
  collect('events that never came', sent.filter((name) => !hooks.seen.has(name)))
  collect('payloads against the schema', [...new Set(hooks.wrong)])

  const late = await forge('--rate-limit', '1000000')
  const other = client(late.url, late.token)
  const made = await other.post('/_forge/users', { login: 'ann' })
  await journey({ ...late, ann: made.token })
  say('octokit went from issue to release, with a forge as late as the real one')
} catch (error) {
  complaints.push(error.stack ?? String(error))
}
endAll()
for (const each of complaints) console.error(`- ${each}`)
console.log(complaints.length === 0 ? 'the forge keeps to GitHub' : `${complaints.length} complaints`)
process.exit(complaints.length === 0 ? 0 : 1)
