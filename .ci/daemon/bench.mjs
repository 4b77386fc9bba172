// Measures the daemon; see .ci/bench-daemon.
import { execFile, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync, existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const PILOT = process.env.PILOT;
const TASKS = 8;
const SINGLES = 12;
const BARS = { ratio: 1.5, calls: 20, idleMiB: 20 };
const exec = promisify(execFile);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const folder = mkdtempSync(join(tmpdir(), "pilot-bench-"));
const ENV = {
  PATH: process.env.PATH,
  HOME: folder,
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_AUTHOR_NAME: "Bench",
  GIT_AUTHOR_EMAIL: "bench@example.org",
  GIT_COMMITTER_NAME: "Bench",
  GIT_COMMITTER_EMAIL: "bench@example.org",
};
const children = [];

async function until(what, so, ms = 120000) {
  const end = Date.now() + ms;
  for (;;) {
    const found = await so();
    if (found) return found;
    if (Date.now() > end) throw new Error(`not in time: ${what}`);
    await sleep(20);
  }
}

// A forge, a repository with CI, and a checkout of it.
class World {
  static async open(name) {
    const world = new World();
    world.folder = join(folder, name);
    mkdirSync(world.folder);
    const forge = spawn(PILOT, ["forge", "serve", "--root", join(world.folder, "forge"), "--lags", "none", "--ci-jobs", "4",
      "--rate-limit", "1000000", "--json"], { env: ENV, stdio: ["ignore", "pipe", "inherit"] });
    children.push(forge);
    const line = await new Promise((done) => {
      let text = "";
      forge.stdout.on("data", (data) => ((text += data).includes("\n") ? done(text) : 0));
    });
    Object.assign(world, JSON.parse(line));
    await world.api("POST", "/user/repos", { name: "shop", auto_init: true });
    const main = await world.repo("GET", "/git/ref/heads/main");
    const tree = await world.repo("POST", "/git/trees", {
      tree: [{ path: ".pilot/ci.sh", mode: "100644", type: "blob", content: "true\n" }],
    });
    const commit = await world.repo("POST", "/git/commits", { message: "ci", tree: tree.sha, parents: [main.object.sha] });
    await world.repo("PATCH", "/git/refs/heads/main", { sha: commit.sha });
    world.remote = `${world.url.replace("http://", `http://x:${world.token}@`)}/${world.user}/shop.git`;
    world.shop = join(world.folder, "shop");
    await exec("git", ["clone", "-q", world.remote, world.shop], { env: ENV });
    return world;
  }
  async api(method, path, body) {
    const answer = await fetch(this.url + path, {
      method,
      headers: { authorization: `token ${this.token}` },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : null;
  }
  repo(method, path, body) {
    return this.api(method, `/repos/${this.user}/shop${path}`, body);
  }
  file(number) {
    return this.repo("POST", "/issues", { title: `feat: file ${number}`, body: "Please.", labels: ["pilot"] });
  }
  async requests() {
    return (await this.api("GET", "/_forge/requests?per_page=100000")).requests;
  }
  // The calls since then that a forge counts, but for those of this script: the issues it files, and what became of them.
  async paid(since) {
    const asked = (call) => (call.method === "POST" && call.path.endsWith("/issues")) || call.query.includes("bench") || call.query.includes("state=closed");
    const calls = (await this.requests()).slice(since);
    return calls.filter((call) => !call.path.includes(".git/") && !call.path.startsWith("/_forge") && call.status !== 304 && !asked(call));
  }
  async merged() {
    const pulls = await this.repo("GET", "/pulls?state=closed&per_page=100");
    return pulls.filter((pull) => pull.merged_at).length;
  }
}

function configure(world) {
  const home = join(world.folder, "home");
  mkdirSync(home);
  const agent = join(world.folder, "agent.sh");
  writeFileSync(agent, `cat >/dev/null
date +%s%N >"${world.folder}/started-$PILOT_TASK_ID"
echo x >"$PILOT_TASK_ID.txt"; git add -A; git commit -qm "feat: $PILOT_TASK_ID"; echo done
`);
  writeFileSync(join(home, "config.yaml"), `adapters: {github: {token: "${world.token}", api_url: "${world.url}", polling: {interval: 200ms}}}
orchestrator:
  max_concurrent: ${TASKS}
  execution_mode: parallel
  autopilot: {environment: dev, ci_poll_interval: 200ms, settle: 1s, max_merges_per_hour: 1000}
executor: {backend: command, command: {argv: [sh, "${agent}"]}, review: {enabled: false}}
quality: {enabled: false}
logging: {output: "${world.folder}/log"}
projects: [{name: shop, path: "${world.shop}", github: {owner: ${world.user}, repo: shop}}]
`, { mode: 0o600 });
  const pilot = spawn(PILOT, ["start"], { env: { ...ENV, PILOT_HOME: home }, stdio: ["ignore", "ignore", "inherit"] });
  children.push(pilot);
  return pilot;
}

// Git's list of worktrees takes one change at a time: adding two at once fails now and then.
let listIsFree = Promise.resolve();
function oneAtATime(change) {
  const done = listIsFree.then(change);
  listIsFree = done.catch(() => {});
  return done;
}

// The same task by hand: the calls that the daemon makes, one after the other.
async function byHand(world, issue) {
  const git = (dir, ...args) => exec("git", args, { cwd: dir, env: ENV });
  const key = `GH-${issue.number}`;
  await world.repo("GET", "/issues?labels=pilot&state=open");
  await world.repo("GET", `/collaborators/${world.user}/permission`);
  await world.repo("GET", `/pulls?head=${world.user}:pilot/${key}`);
  const { stdout } = await exec("sh", ["-c", "echo me | git hash-object -w --stdin"], { cwd: world.shop, env: ENV });
  await git(world.shop, "push", "-q", world.remote, `${stdout.trim()}:refs/pilot/claims/${key}`);
  await world.repo("GET", `/issues/${issue.number}`);
  await world.repo("POST", `/issues/${issue.number}/labels`, { labels: ["pilot-in-progress"] });
  const comment = await world.repo("POST", `/issues/${issue.number}/comments`, { body: "at work" });
  await git(world.shop, "fetch", "-q", world.remote, `+refs/heads/main:refs/pilot/base/${key}`);
  const tree = join(world.folder, "trees", key);
  await oneAtATime(() => git(world.shop, "worktree", "add", "-q", "-b", `pilot/${key}`, tree, `refs/pilot/base/${key}`));
  await exec("sh", ["-c", `echo x >${key}.txt; git add -A; git commit -qm "feat: ${key}"`], { cwd: tree, env: ENV });
  await git(tree, "push", "-q", world.remote, `HEAD:refs/heads/pilot/${key}`);
  const head = (await git(tree, "rev-parse", "HEAD")).stdout.trim();
  const pull = await world.repo("POST", "/pulls", { title: key, head: `pilot/${key}`, base: "main", body: `Closes #${issue.number}` });
  for (let equal = 0; equal < 2; ) {
    const checks = await world.repo("GET", `/commits/${head}/check-runs`);
    await world.repo("GET", `/commits/${head}/statuses`);
    await world.repo("GET", "/branches/main");
    equal = checks.check_runs.length && checks.check_runs.every((run) => run.conclusion === "success") ? equal + 1 : 0;
    await sleep(200);
  }
  await world.repo("GET", `/pulls/${pull.number}`);
  await world.repo("PUT", `/pulls/${pull.number}/merge`, { sha: head, merge_method: "squash" });
  await git(world.shop, "fetch", "-q", world.remote, `+refs/heads/main:refs/pilot/base/${key}`);
  await world.repo("GET", `/issues/${issue.number}`);
  await world.repo("PATCH", `/issues/comments/${comment.id}`, { body: "done" });
  await world.repo("POST", `/issues/${issue.number}/labels`, { labels: ["pilot-done"] });
  await world.repo("DELETE", `/issues/${issue.number}/labels/pilot-in-progress`);
  await world.repo("GET", `/pulls?base=pilot/${key}`);
  await git(world.shop, "push", "-q", world.remote, `:refs/heads/pilot/${key}`);
  await oneAtATime(() => git(world.shop, "worktree", "remove", tree));
  await oneAtATime(() => git(world.shop, "branch", "-q", "-D", `pilot/${key}`));
  await git(world.shop, "push", "-q", world.remote, `:refs/pilot/claims/${key}`);
}

const quantile = (values, q) => values.sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(q * values.length))];

async function main() {
  const failed = [];
  const bar = (what, value, most, unit) => {
    console.log(`${what}: ${value}${unit} (at most ${most}${unit})`);
    if (value > most) failed.push(what);
  };

  const tell = (what, calls, tasks) => {
    bar(what, +(calls.length / tasks).toFixed(1), BARS.calls, "");
    const kinds = {};
    for (const call of calls) {
      const kind = `${call.method} ${call.path.replace(/^\/repos\/[^/]+\/shop/, "").replace(/[0-9a-f]{40}/g, "SHA").replace(/\d+/g, "N")}`;
      kinds[kind] = (kinds[kind] ?? 0) + 1;
    }
    for (const [kind, count] of Object.entries(kinds).sort(([, a], [, b]) => b - a)) {
      console.log(`  ${(count / tasks).toFixed(1).padStart(5)}  ${kind}`);
    }
  };

  // By hand first, in a world of its own.
  const hand = await World.open("hand");
  const issues = [];
  for (let number = 0; number < TASKS; number++) issues.push(await hand.file(number));
  let from = Date.now();
  await Promise.all(issues.map((issue) => byHand(hand, issue)));
  const handMs = Date.now() - from;

  // The daemon, warm: one task before the eight.
  const world = await World.open("pilot");
  const pilot = configure(world);
  await world.file("warm");
  await until("the first merge", async () => (await world.merged()) === 1);
  await sleep(1500);
  const before = (await world.requests()).length;
  from = Date.now();
  for (let number = 0; number < TASKS; number++) await world.file(number);
  await until("eight merges", async () => (await world.merged()) === TASKS + 1);
  const pilotMs = Date.now() - from;
  await sleep(2500);
  const eight = await world.paid(before);
  console.log(`${TASKS} tasks: ${(TASKS * 60000 / pilotMs).toFixed(0)} a minute; by hand ${(TASKS * 60000 / handMs).toFixed(0)} a minute`);
  bar("time over a script with the same calls", +(pilotMs / handMs).toFixed(2), BARS.ratio, "x");
  tell("calls of the API for a merged pull request of eight at once, besides 304s", eight, TASKS);

  // From an issue to its agent, one at a time.
  const waits = [];
  const alone = (await world.requests()).length;
  for (let number = 0; number < SINGLES; number++) {
    const issue = await world.file(`single ${number}`);
    const at = Date.now();
    const mark = join(world.folder, `started-GH-${issue.number}`);
    await until("the agent", () => existsSync(mark) && readFileSync(mark, "utf8").length > 10);
    waits.push(Number(readFileSync(mark, "utf8").trim()) / 1e6 - at);
    await until("its merge", async () => (await world.repo("GET", `/issues/${issue.number}?bench=1`)).state === "closed");
  }
  await sleep(1500);
  tell("calls of the API for a merged pull request one at a time, besides 304s", await world.paid(alone), SINGLES);
  const adds = [];
  for (let number = 0; number < SINGLES; number++) {
    const at = process.hrtime.bigint();
    execFileSync("git", ["worktree", "add", "-q", "--detach", join(world.folder, `w${number}`)], { cwd: world.shop, env: ENV });
    adds.push(Number(process.hrtime.bigint() - at) / 1e6);
  }
  const add = quantile(adds, 0.5);
  console.log(`from issue to agent, polling every 200 ms: p50 ${(quantile(waits, 0.5) - add).toFixed(0)} ms, p99 ${(quantile(waits, 0.99) - add).toFixed(0)} ms, without git worktree add (${add.toFixed(0)} ms)`);

  // Idle.
  await sleep(3000);
  const quiet = (await world.requests()).length;
  await sleep(4000);
  const idle = (await world.requests()).slice(quiet).filter((call) => !call.path.startsWith("/_forge"));
  bar(`idle calls that were no 304, of ${idle.length}`, idle.filter((call) => call.status !== 304).length, 0, "");
  const status = readFileSync(`/proc/${pilot.pid}/status`, "utf8");
  console.log(`  of which its own ${(Number(/RssAnon:\s+(\d+)/.exec(status)[1]) / 1024).toFixed(1)} MiB, the program file ${(Number(/RssFile:\s+(\d+)/.exec(status)[1]) / 1024).toFixed(1)} MiB`);
  bar("idle memory", +(Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024).toFixed(1), BARS.idleMiB, " MiB");
  if (failed.length) {
    console.log(`missed: ${failed.join(", ")}`);
    process.exitCode = 1;
  }
}

try {
  await main();
} finally {
  for (const child of children) child.kill("SIGTERM");
  await sleep(500);
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}
