// From an issue to a release with GitHub's published client.
import assert from 'node:assert/strict'
import { Octokit } from '@octokit/rest'
import { base64, until } from './client.mjs'

// Expected failures are not printed.
const QUIET = { debug() {}, info() {}, warn() {}, error() {} }

export async function journey({ url, token, user, ann }) {
  const octokit = new Octokit({ auth: token, baseUrl: url, log: QUIET })
  const reviewer = new Octokit({ auth: ann, baseUrl: url, log: QUIET })
  const { data: repository } = await octokit.rest.repos.createForAuthenticatedUser({ name: 'journey', auto_init: true })
  const where = { owner: user, repo: 'journey' }
  await octokit.rest.repos.addCollaborator({ ...where, username: 'ann', permission: 'push' })
  const { data: issue } = await octokit.rest.issues.create({ ...where, title: 'Say hello', labels: ['pilot'] })
  const { data: base } = await octokit.rest.git.getRef({ ...where, ref: `heads/${repository.default_branch}` })
  await octokit.rest.git.createRef({ ...where, ref: 'refs/heads/pilot/GH-1', sha: base.object.sha })
  const script = '#!/bin/sh\ngrep -q hello greeting.txt\n'
  await octokit.rest.repos.createOrUpdateFileContents({ ...where, path: '.pilot/ci.sh', branch: 'pilot/GH-1', message: 'ci', content: base64(script) })
  const { data: file } = await octokit.rest.repos.createOrUpdateFileContents({ ...where, path: 'greeting.txt', branch: 'pilot/GH-1', message: 'say hello', content: base64('hello\n') })
  const head = file.commit.sha
  const { data: pull } = await octokit.rest.pulls.create({ ...where, title: 'Say hello', head: 'pilot/GH-1', base: repository.default_branch, body: `Closes #${issue.number}` })
  await assert.rejects(octokit.rest.pulls.create({ ...where, title: 'Again', head: 'pilot/GH-1', base: 'main' }), { status: 422 })
  await until('green checks', async () => {
    const { data } = await octokit.rest.checks.listForRef({ ...where, ref: head })
    return data.total_count > 0 && data.check_runs.every((run) => run.conclusion === 'success')
  })
  await reviewer.rest.pulls.createReview({ ...where, pull_number: pull.number, event: 'APPROVE' })
  await until('an answer whether it can be merged', async () => {
    const { data } = await octokit.rest.pulls.get({ ...where, pull_number: pull.number })
    return data.mergeable === true && data.mergeable_state === 'clean'
  })
  await assert.rejects(octokit.rest.pulls.merge({ ...where, pull_number: pull.number, sha: base.object.sha }), { status: 409 })
  const { data: merge } = await octokit.rest.pulls.merge({ ...where, pull_number: pull.number, sha: head, merge_method: 'squash' })
  assert.equal(merge.merged, true)
  const { data: closed } = await octokit.rest.issues.get({ ...where, issue_number: issue.number })
  assert.deepEqual([closed.state, closed.state_reason], ['closed', 'completed'])
  const { data: release } = await octokit.rest.repos.createRelease({ ...where, tag_name: 'v1.0.0', target_commitish: merge.sha, body: 'Hello.' })
  const { data: latest } = await octokit.rest.repos.getLatestRelease(where)
  assert.equal(latest.id, release.id)
  const { data: tag } = await octokit.rest.git.getRef({ ...where, ref: 'tags/v1.0.0' })
  assert.equal(tag.object.sha, merge.sha)
  // The client follows pages by itself; a list may lag.
  for (let number = 0; number < 5; number++) await octokit.rest.issues.create({ ...where, title: `Issue ${number}` })
  await until('all seven in the list', async () => {
    const all = await octokit.paginate(octokit.rest.issues.listForRepo, { ...where, state: 'all', per_page: 2 })
    return all.length === 7
  })
}
