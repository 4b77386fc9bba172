// GitHub's published OpenAPI description, reduced to the paths of the forge: reading all of it takes a minute.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

// Served for an empty path, which the description cannot express.
const BESIDE = ['GET /repos/{owner}/{repo}/contents']

// A path without the names of its parameters.
const shape = (path) => path.replace(/\{[^}]*\}/g, '{}')

// Every route of the forge's API, read from its source: [{ method, pattern }].
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
