// A webhook receiver that validates every payload against GitHub's schema.
import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const Ajv = require('ajv').default
const formats = require('ajv-formats').default

export const SECRET = 'a secret for the receiver'

export async function receiver() {
  const schema = require('@octokit/webhooks-schemas/schema.json')
  const ajv = new Ajv({ strict: false, allErrors: false })
  formats(ajv)
  ajv.addSchema(schema, 'github')
  const seen = new Map()
  const wrong = []
  const judge = (event, body, signature) => {
    const payload = JSON.parse(body)
    const name = [event, payload.action].filter(Boolean).join('.')
    seen.set(name, (seen.get(name) ?? 0) + 1)
    const expected = `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`
    if (signature !== expected) wrong.push(`${name}: wrong signature`)
    const definitions = [`${event}$${payload.action}`, `${event}$event`, `${event}_event`]
    const definition = definitions.find((each) => schema.definitions[each])
    if (!definition) return wrong.push(`${name}: no such event in the schema`)
    const check = ajv.getSchema(`github#/definitions/${encodeURIComponent(definition)}`)
    if (!check(payload)) {
      wrong.push(`${name}: ${check.errors.map((error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`).join('; ')}`)
    }
  }
  const server = createServer((request, response) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      judge(request.headers['x-github-event'], Buffer.concat(chunks), request.headers['x-hub-signature-256'])
      response.end('thanks')
    })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  return { url: `http://127.0.0.1:${server.address().port}/`, seen, wrong }
}
