// second tier: third party
// shares a process
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import * as two from '@modelcontextprotocol/client'
import * as one from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { startClient } from 'caduceus/client'
import { stdio } from 'caduceus/transports'
import { freePort } from '../../support/free-port.js'
import { heard } from '../../support/heard.js'
import { inRoot } from '../../support/root.js'
import { suite } from '../../support/suite.js'
import { Browser } from './_browser.js'
import { start } from './_server.js'

const test = suite('official clients sign in', { timeout: 30_000 })
const back = 'http://127.0.0.1:6274/oauth/callback'
const isBack = (url: URL): boolean => url.href.startsWith(back)

/** What the official clients ask a host for; it opens the address in a browser. */
function provider(open: (address: URL) => void) {
  const kept: { client?: unknown; tokens?: unknown; verifier?: string } = {}
  return {
    redirectUrl: back,
    clientMetadata: {
      client_name: 'Inspector',
      redirect_uris: [back],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    clientInformation: () => kept.client as never,
    saveClientInformation: (client: unknown) => void Object.assign(kept, { client }),
    tokens: () => kept.tokens as never,
    saveTokens: (tokens: unknown) => void Object.assign(kept, { tokens }),
    redirectToAuthorization: open,
    saveCodeVerifier: (verifier: string) => void Object.assign(kept, { verifier }),
    codeVerifier: () => kept.verifier ?? '',
    state: () => 'state of the host',
  }
}

const kinds = {
  '1.x': {
    connect: async (transport: unknown) => {
      const client = new one.Client({ name: 'host', version: '1' })
      await client.connect(transport as never)
      return client
    },
    transport: (url: URL, authProvider: never) => new StreamableHTTPClientTransport(url, { authProvider }),
  },
  '2.x': {
    connect: async (transport: unknown) => {
      const client = new two.Client({ name: 'host', version: '1' })
      await client.connect(transport as never)
      return client
    },
    transport: (url: URL, authProvider: never) =>
      new two.StreamableHTTPClientTransport(url, { authProvider }),
  },
}

for (const [name, { connect, transport }] of Object.entries(kinds)) {
  test(`the official client ${name} signs in by itself`, async (t) => {
    const { resource } = await start(t)
    const opened: URL[] = []
    const auth = provider((address) => void opened.push(address)) as never
    const first = transport(new URL(resource), auth)
    await connect(first).then(
      () => assert.unreachable('it has no token yet'),
      () => {},
    )
    const browser = new Browser()
    const page = await browser.open(String(opened[0]), isBack)
    assert.match(page.text, /<b>Inspector<\/b> wants to use/)
    const { url } = await browser.press(page, 'allow', isBack)
    assert.is(url.searchParams.get('state'), 'state of the host')
    await first.finishAuth(url.searchParams.get('code') ?? '', url.searchParams.get('iss') as never)
    const client = await connect(transport(new URL(resource), auth))
    t.after(() => client.close())
    const result = await client.callTool({ name: 'whoami', arguments: {} })
    assert.match(JSON.stringify(result.content), /ada/)
  })
}

test('mcp-remote, which hosts without a login of their own run, signs in by itself', async (t) => {
  const { resource } = await start(t)
  const folder = mkdtempSync(join(tmpdir(), 'remote-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const said = heard<string>()
  const callback = await freePort()
  const client = startClient({
    transport: stdio({
      command: process.execPath,
      args: [inRoot('node_modules', 'mcp-remote', 'dist', 'proxy.js'), resource, String(callback)],
      // it would open the browser of whoever runs this
      env: { MCP_REMOTE_CONFIG_DIR: folder, HOME: folder, BROWSER: 'true' },
      stderr: (line) => void said.add(line),
    }),
    logger: false,
  })
  t.after(() => client.close())
  const called = client.callTool('whoami')
  const address = await said.next((line) => line.startsWith(`${new URL(resource).origin}/authorize?`))
  const browser = new Browser()
  const { status, url } = await browser.press(await browser.open(address), 'allow')
  assert.equal([status, url.port], [200, String(callback)])
  assert.match((await called).text, /"subject":"ada"/)
})

test.run()
