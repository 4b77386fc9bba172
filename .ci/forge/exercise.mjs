// Calls every route of the forge with valid and invalid requests.
import { base64, until } from './client.mjs'
import { SECRET } from './webhooks.mjs'

export async function exercise({ api, admin, hooks }) {
  const me = await api.get('/user')
  const { token: ann } = await admin.post('/_forge/users', { login: 'ann' })
  const context = { api, admin, me: me.login, ann, hooks, repo: `/repos/${me.login}/demo` }
  await repositories(context)
  await webhooks(context)
  await people(context)
  await files(context)
  await objects(context)
  await issues(context)
  await pulls(context)
  await checks(context)
  await releases(context)
  await deliveries(context)
  await ends(context)
}

async function repositories({ api, me, repo }) {
  await api.get(`/users/${me}`)
  await api.get('/users/nobody-here', { expect: 404 })
  await api.get('/rate_limit')
  await api.post('/user/repos', { name: 'demo', description: 'For the checks', auto_init: true })
  await api.post('/user/repos', { name: 'demo' }, { expect: 422 })
  await api.get('/user/repos?per_page=1')
  await api.get(repo)
  await api.get('/repos/nobody/nothing', { expect: 404 })
  await api.get(repo, { as: 'wrong-token', expect: 401 })
  await api.patch(repo, { description: 'Still for the checks', delete_branch_on_merge: false })
}

async function webhooks(context) {
  const { api, repo, hooks } = context
  const config = { url: hooks.url, content_type: 'json', secret: SECRET }
  context.hook = await api.post(`${repo}/hooks`, { name: 'web', active: true, events: ['*'], config })
  await api.get(`${repo}/hooks`)
  await api.get(`${repo}/hooks/${context.hook.id}`)
  await api.patch(`${repo}/hooks/${context.hook.id}`, { active: true, events: ['*'] })
  await api.send('POST', `${repo}/hooks/${context.hook.id}/pings`)
}

async function people({ api, repo, me, ann }) {
  await api.put(`${repo}/collaborators/ann`, { permission: 'push' })
  await api.get(`${repo}/collaborators`)
  await api.get(`${repo}/collaborators/ann`)
  await api.get(`${repo}/collaborators/ann/permission`)
  await api.get(`${repo}/collaborators/${me}/permission`, { as: ann })
  await api.get(`${repo}/assignees`)
  await api.get(`${repo}/assignees/ann`)
}

async function files({ api, admin, repo }) {
  const made = await api.put(`${repo}/contents/docs%2Fa.txt`, { message: 'add a', content: base64('one\n') })
  // The description has no empty path.
  await admin.get(`${repo}/contents`)
  await api.get(`${repo}/contents/docs%2Fa.txt`)
  await api.get(`${repo}/contents/missing`, { expect: 404 })
  await api.put(`${repo}/contents/docs%2Fa.txt`, { message: 'change a', content: base64('two\n'), sha: made.content.sha })
  const b = await api.put(`${repo}/contents/docs%2Fb.txt`, { message: 'add b', content: base64('b\n') })
  await api.delete(`${repo}/contents/docs%2Fb.txt`, { message: 'drop b', sha: b.content.sha })
}

async function objects({ api, repo }) {
  const head = (await api.get(`${repo}/git/ref/heads%2Fmain`)).object.sha
  const blob = await api.post(`${repo}/git/blobs`, { content: 'from a blob\n', encoding: 'utf-8' })
  await api.get(`${repo}/git/blobs/${blob.sha}`)
  const commit = await api.get(`${repo}/git/commits/${head}`)
  const tree = await api.post(`${repo}/git/trees`, {
    base_tree: commit.tree.sha,
    tree: [{ path: 'blob.txt', mode: '100644', type: 'blob', sha: blob.sha }],
  })
  await api.get(`${repo}/git/trees/${tree.sha}`)
  await api.get(`${repo}/git/trees/${tree.sha}?recursive=1`)
  const next = await api.post(`${repo}/git/commits`, { message: 'by hand', tree: tree.sha, parents: [head] })
  await api.post(`${repo}/git/refs`, { ref: 'refs/heads/by-hand', sha: head })
  await api.patch(`${repo}/git/refs/heads%2Fby-hand`, { sha: next.sha })
  await api.get(`${repo}/git/matching-refs/heads%2Fby`)
  const tag = await api.post(`${repo}/git/tags`, { tag: 'v0', message: 'a tag', object: next.sha, type: 'commit' })
  await api.post(`${repo}/git/refs`, { ref: 'refs/tags/v0', sha: tag.sha })
  await api.get(`${repo}/git/tags/${tag.sha}`)
  await api.get(`${repo}/tags`)
  await api.get(`${repo}/branches`)
  await api.get(`${repo}/branches/by-hand`)
  await api.get(`${repo}/commits`)
  await api.get(`${repo}/commits/${next.sha}`)
  await api.get(`${repo}/compare/main...by-hand`)
  await api.delete(`${repo}/git/refs/heads%2Fby-hand`)
}

async function issues(context) {
  const { api, repo, me, ann } = context
  await api.post(`${repo}/labels`, { name: 'pilot', color: '3f51d4', description: 'for Pilot' })
  await api.get(`${repo}/labels`)
  await api.get(`${repo}/labels/pilot`)
  await api.patch(`${repo}/labels/pilot`, { description: 'for the pilot' })
  const milestone = await api.post(`${repo}/milestones`, { title: 'soon' })
  await api.get(`${repo}/milestones`)
  await api.get(`${repo}/milestones/${milestone.number}`)
  await api.patch(`${repo}/milestones/${milestone.number}`, { description: 'not late' })
  const issue = await api.post(`${repo}/issues`, {
    title: 'A bug', body: 'It **breaks**.', labels: ['pilot'], assignees: [me], milestone: milestone.number,
  })
  const path = `${repo}/issues/${issue.number}`
  await api.get(path)
  await api.get(`${repo}/issues?state=all&labels=pilot&per_page=1`)
  await api.patch(path, { title: 'A worse bug', body: 'It breaks more.' })
  await api.post(`${path}/labels`, { labels: ['extra'] })
  await api.get(`${path}/labels`)
  await api.put(`${path}/labels`, { labels: ['pilot', 'other'] })
  await api.delete(`${path}/labels/other`)
  await api.post(`${path}/assignees`, { assignees: ['ann'] })
  await api.delete(`${path}/assignees`, { assignees: ['ann'] })
  const comment = await api.post(`${path}/comments`, { body: 'I see it too.' }, { as: ann })
  await api.get(`${path}/comments`)
  await api.get(`${repo}/issues/comments`)
  await api.get(`${repo}/issues/comments/${comment.id}`)
  await api.patch(`${repo}/issues/comments/${comment.id}`, { body: 'I saw it.' })
  await api.delete(`${repo}/issues/comments/${comment.id}`)
  await api.patch(path, { state: 'closed', state_reason: 'not_planned' })
  await api.patch(path, { state: 'open' })
  await api.get(`${path}/events`)
  await api.get(`${path}/timeline`)
  await api.get(`${repo}/issues/events`)
  await api.get(`/search/issues?q=${encodeURIComponent(`repo:${me}/demo is:issue is:open label:pilot`)}`)
  await api.delete(`${path}/labels`)
  await api.delete(`${repo}/labels/other`)
  await api.get(`${repo}/issues/999`, { expect: 404 })
  context.issue = issue.number
}

// Creates a branch from main with a changed file.
async function branch({ api, repo }, name, path, text) {
  const { object } = await api.get(`${repo}/git/ref/heads%2Fmain`)
  await api.post(`${repo}/git/refs`, { ref: `refs/heads/${name}`, sha: object.sha })
  const made = await api.put(`${repo}/contents/${encodeURIComponent(path)}`, { message: `change ${path}`, content: base64(text), branch: name })
  return made.commit.sha
}

async function pulls(context) {
  const { api, repo, ann, me } = context
  await branch(context, 'one', 'one.txt', 'one\ntwo\nthree\n')
  const pull = await api.post(`${repo}/pulls`, { title: 'One', head: 'one', base: 'main', body: `Closes #${context.issue}` })
  await api.post(`${repo}/pulls`, { title: 'One', head: 'one', base: 'main' }, { expect: 422 })
  const path = `${repo}/pulls/${pull.number}`
  await api.get(path)
  await api.get(`${repo}/pulls?head=${me}:one&state=all`)
  await api.get(`${path}/files`)
  await api.get(`${path}/commits`)
  await api.patch(path, { title: 'One file', body: `Closes #${context.issue}.` })
  await api.send('GET', `${path}/merge`, undefined, { expect: 404 })
  await reviews(context, path)
  await protection(context)
  const main = `${repo}/contents/later.txt`
  await api.put(main, { message: 'later', content: base64('later\n') })
  await api.send('PUT', `${path}/update-branch`, {}, { expect: 202 })
  await api.get(`${repo}/commits/main/pulls`)
  await api.put(`${path}/merge`, { sha: '0'.repeat(40) }, { expect: 409 })
  await api.put(`${path}/merge`, { merge_method: 'squash' })
  await api.put(`${path}/merge`, {}, { expect: 405 })
  await api.send('GET', `${path}/merge`)
  await branch(context, 'two', 'two.txt', 'two\n')
  const other = await api.post(`${repo}/pulls`, { title: 'Two', head: 'two', base: 'main', draft: true }, { as: ann })
  await api.patch(`${repo}/pulls/${other.number}`, { state: 'closed' })
  await api.patch(`${repo}/pulls/${other.number}`, { state: 'open' })
  await api.patch(`${repo}/pulls/${other.number}`, { state: 'closed' })
}

async function reviews({ api, repo, ann }, path) {
  await api.post(`${path}/requested_reviewers`, { reviewers: ['ann'] })
  await api.get(`${path}/requested_reviewers`)
  await api.delete(`${path}/requested_reviewers`, { reviewers: ['ann'] })
  const { head } = await api.get(path)
  const comment = await api.post(`${path}/comments`, { body: 'why?', path: 'one.txt', line: 2, side: 'RIGHT', commit_id: head.sha })
  await api.get(`${path}/comments`)
  await api.get(`${repo}/pulls/comments/${comment.id}`)
  await api.post(`${path}/comments/${comment.id}/replies`, { body: 'because' }, { as: ann })
  const review = await api.post(`${path}/reviews`, { body: 'Hm.', event: 'REQUEST_CHANGES' }, { as: ann })
  await api.put(`${path}/reviews/${review.id}/dismissals`, { message: 'it is fine', event: 'DISMISS' })
  const pending = await api.post(`${path}/reviews`, { body: 'Good.' }, { as: ann })
  await api.post(`${path}/reviews/${pending.id}/events`, { event: 'APPROVE' }, { as: ann })
  await api.get(`${path}/reviews`)
  await api.get(`${path}/reviews/${review.id}`)
  await api.get(`${path}/reviews/${review.id}/comments`)
}

async function protection({ api, repo }) {
  const path = `${repo}/branches/main/protection`
  await api.get(path, { expect: 404 })
  await api.put(path, {
    required_status_checks: { strict: false, contexts: [] },
    enforce_admins: false,
    required_pull_request_reviews: null,
    restrictions: null,
  })
  await api.get(path)
  await api.get(`${path}/required_status_checks`)
  await api.get(`${repo}/branches/main`)
  await api.get(`${repo}/rules/branches/main`)
  await api.delete(path)
}

async function checks(context) {
  const { api, admin, repo } = context
  const sha = await branch(context, 'ci', '.pilot/ci.sh', 'echo hello; [ ! -e slow ] || sleep 600\n')
  const run = await finished(context, sha)
  await api.get(`${repo}/actions/workflows`)
  await api.get(`${repo}/actions/runs/${run.id}`)
  const { jobs } = await api.get(`${repo}/actions/runs/${run.id}/jobs`)
  await api.get(`${repo}/actions/jobs/${jobs[0].id}`)
  // Prism follows the redirect and then misses the 302 of the description.
  await admin.send('GET', `${repo}/actions/jobs/${jobs[0].id}/logs`, undefined, { expect: 302 })
  const { check_suites: suites } = await api.get(`${repo}/commits/${sha}/check-suites`)
  await api.get(`${repo}/commits/${sha}/check-runs`)
  await api.get(`${repo}/check-suites/${suites[0].id}`)
  const { check_runs: runs } = await api.get(`${repo}/check-suites/${suites[0].id}/check-runs`)
  await api.get(`${repo}/check-runs/${runs[0].id}`)
  await api.get(`${repo}/check-runs/${runs[0].id}/annotations`)
  for (const path of [`actions/runs/${run.id}/rerun`, `actions/runs/${run.id}/rerun-failed-jobs`, `check-suites/${suites[0].id}/rerequest`]) {
    await api.post(`${repo}/${path}`, undefined, { expect: 201 })
    await finished(context, sha)
  }
  await api.post(`${repo}/check-runs/${runs[0].id}/rerequest`, undefined, { expect: 201 })
  await finished(context, sha)
  const own = await api.post(`${repo}/check-runs`, { name: 'lint', head_sha: sha, status: 'in_progress' })
  await api.patch(`${repo}/check-runs/${own.id}`, { status: 'completed', conclusion: 'neutral', output: { title: 'ok', summary: 'fine' } })
  await api.post(`${repo}/statuses/${sha}`, { state: 'success', context: 'outside', description: 'good' })
  await api.get(`${repo}/commits/${sha}/status`)
  await api.get(`${repo}/commits/${sha}/statuses`)
  await cancel(context)
}

async function finished({ api, repo }, sha) {
  return until('a run of CI', async () => {
    const { workflow_runs: runs } = await api.get(`${repo}/actions/runs?head_sha=${sha}`)
    return runs?.[0]?.status === 'completed' && runs[0]
  })
}

async function cancel({ api, repo }) {
  const { commit } = await api.put(`${repo}/contents/slow`, { message: 'slow', content: base64('x'), branch: 'ci' })
  const run = await until('a slow run', async () => {
    const { workflow_runs: runs } = await api.get(`${repo}/actions/runs?head_sha=${commit.sha}`)
    return runs?.[0]?.status === 'in_progress' && runs[0]
  })
  await api.send('POST', `${repo}/actions/runs/${run.id}/cancel`, undefined, { expect: 202 })
  await finished({ api, repo }, commit.sha)
}

async function releases({ api, repo }) {
  const release = await api.post(`${repo}/releases`, { tag_name: 'v1.0.0', name: 'One', body: 'First.' })
  const draft = await api.post(`${repo}/releases`, { tag_name: 'v2.0.0', draft: true })
  await api.patch(`${repo}/releases/${draft.id}`, { draft: false, prerelease: true })
  await api.get(`${repo}/releases`)
  await api.get(`${repo}/releases/latest`)
  await api.get(`${repo}/releases/tags/v1.0.0`)
  await api.get(`${repo}/releases/${release.id}`)
  await api.delete(`${repo}/releases/${draft.id}`)
}

async function deliveries({ api, repo, hook }) {
  const list = await api.get(`${repo}/hooks/${hook.id}/deliveries`)
  await api.get(`${repo}/hooks/${hook.id}/deliveries/${list[0].id}`)
  await api.send('POST', `${repo}/hooks/${hook.id}/deliveries/${list[0].id}/attempts`, undefined, { expect: 202 })
}

async function ends({ api, repo, hook }) {
  // All webhooks have arrived when no delivery is waiting.
  await until('the last webhook', async () => {
    const list = await api.get(`${repo}/hooks/${hook.id}/deliveries?per_page=100`)
    return list.every((each) => each.status_code !== 0)
  })
  await api.delete(`${repo}/collaborators/ann`)
  await api.delete(`${repo}/hooks/${hook.id}`)
}
