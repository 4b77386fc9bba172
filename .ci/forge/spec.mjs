// GitHub's OpenAPI description, as published, without the paths that the forge does not have: reading all of it takes a minute.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

// Served for a path that is empty, which the description cannot say.
const BESIDE = ['GET /repos/{owner}/{repo}/contents']

// What a path looks like whatever its parameters are called.
const shape = (path) => path.replace(/\{[^}]*\}/g, '{}')

// Every route of the forge's API, as its source says: [{ method, pattern }].
export function routes(source) {
  const found = []
  for (const file of readdirSync(source)) {
    const text = readFileSync(join(source, file), 'utf8')
    for (const [, method, pattern] of text.matchAll(/\b(get|post|put|patch|delete)\(\s*"(\/[^"]+)"/g)) {
      found.push({ method: method.toUpperCase(), pattern })
    }
  }
  return found
}

// Writes the description of these routes; a route that GitHub does not have is an error.
export function describe(from, to, wanted) {
  const spec = JSON.parse(readFileSync(from, 'utf8'))
  const shapes = new Map(wanted.map(({ pattern }) => [shape(pattern), pattern]))
  spec.paths = Object.fromEntries(Object.entries(spec.paths).filter(([path]) => shapes.has(shape(path))))
  const known = new Set(
    Object.entries(spec.paths).flatMap(([path, item]) => Object.keys(item).map((method) => `${method.toUpperCase()} ${shape(path)}`)),
  )
  const foreign = wanted.filter(({ method, pattern }) => !known.has(`${method} ${shape(pattern)}`))
  delete spec.webhooks
  delete spec['x-webhooks']
  writeFileSync(to, JSON.stringify(spec))
  return foreign.map(({ method, pattern }) => `${method} ${pattern}`).filter((each) => !BESIDE.includes(each))
}
