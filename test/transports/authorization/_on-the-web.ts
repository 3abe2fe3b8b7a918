// A client that is its metadata document, and the host of that.
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import tls from 'node:tls'
import { selfSigned } from '../../support/certificate.js'
import type { TestContext } from '../../support/suite.js'
import { back } from './_attack.js'

export const host = 'client.example'
export const id = `https://${host}/mcp/client.json`

export const document = {
  client_id: id,
  client_name: 'Host on the web',
  redirect_uris: [back],
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
}

/** A host on the web: what is dialled under its name comes here, and all else where it goes. */
export async function onTheWeb(
  t: TestContext,
  documents: Readonly<Record<string, object | 'away'>>,
  isSilent: (request: IncomingMessage) => boolean = () => false,
) {
  const { cert, key } = selfSigned()
  const asked: string[] = []
  const server = createServer({ cert, key }, (request, response) => {
    asked.push(String(request.url))
    if (isSilent(request)) return
    const document = documents[String(request.url)]
    const status = document === 'away' ? 503 : document === undefined ? 404 : 200
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(document))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { connect } = tls
  const here = { host: '127.0.0.1', port, servername: 'localhost', ca: cert, lookup: undefined }
  tls.connect = ((options: tls.ConnectionOptions, ...rest: []) =>
    connect(
      options.host === host ? ({ ...options, ...here } as tls.ConnectionOptions) : options,
      ...rest,
    )) as typeof connect
  t.after(() => {
    tls.connect = connect
    server.closeAllConnections()
    server.close()
  })
  return asked
}
