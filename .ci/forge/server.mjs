// The programs that the checks start and stop.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const ended = []

// Starts the forge on a free port in a temporary directory; resolves with its JSON line.
export async function forge(...flags) {
  const home = mkdtempSync(join(tmpdir(), 'pilot-forge-'))
  const child = spawn(process.env.PILOT, ['forge', 'serve', '--root', join(home, 'forge'), '--json', ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  ended.push(() => {
    child.kill('SIGKILL')
    rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  })
  return JSON.parse(await line(child, () => true))
}

// Starts a program and waits for the line that reports readiness.
export async function program(path, args, ready) {
  const child = spawn(path, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NO_COLOR: '1' } })
  ended.push(() => child.kill('SIGKILL'))
  child.stderr.resume()
  await line(child, (text) => text.includes(ready))
  child.stdout.resume()
}

function line(child, fits) {
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: child.stdout })
    lines.on('line', (text) => {
      if (fits(text)) resolve(text)
    })
    child.on('exit', (code) => reject(new Error(`${child.spawnfile} ended with ${code} before it was ready`)))
    child.on('error', reject)
  })
}

// Stops all started programs.
export function endAll() {
  for (const end of ended.splice(0)) end()
}

process.on('exit', endAll)
