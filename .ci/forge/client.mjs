// Requests through prism, which replies itself when either side violates GitHub's description.

export function client(base, token) {
  const violations = []
  const unexpected = []
  const send = async (method, path, body, { expect, as = token, accept } = {}) => {
    const headers = { authorization: `Bearer ${as}`, accept: accept ?? 'application/vnd.github+json' }
    if (body !== undefined) headers['content-type'] = 'application/json'
    const response = await fetch(base + path, {
      method,
      headers,
      redirect: 'manual',
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await response.text()
    let json = null
    try {
      json = JSON.parse(text)
    } catch {
      // Not every response is JSON.
    }
    if (String(json?.type).includes('stoplight.io/prism')) {
      const detail = json.validation?.map((each) => `${each.location?.join('.')}: ${each.message}`).join('; ')
      violations.push(`${method} ${path}: ${json.title}: ${detail ?? json.detail}`)
      return { status: response.status, json: {}, text }
    }
    const fine = expect ? response.status === expect : response.status < 400
    if (!fine) unexpected.push(`${method} ${path}: ${response.status} instead of ${expect ?? '2xx'}: ${text.slice(0, 300)}`)
    return { status: response.status, json, text, headers: response.headers }
  }
  return {
    violations,
    unexpected,
    send,
    get: async (path, options) => (await send('GET', path, undefined, options)).json,
    post: async (path, body, options) => (await send('POST', path, body, options)).json,
    put: async (path, body, options) => (await send('PUT', path, body, options)).json,
    patch: async (path, body, options) => (await send('PATCH', path, body, options)).json,
    delete: async (path, body, options) => (await send('DELETE', path, body, options)).json,
  }
}

// Polls until there is a value; the timeout is that of all checks.
export async function until(what, look) {
  for (let turn = 0; turn < 600; turn++) {
    const found = await look()
    if (found) return found
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`waited in vain for ${what}`)
}

export const base64 = (text) => Buffer.from(text).toString('base64')
