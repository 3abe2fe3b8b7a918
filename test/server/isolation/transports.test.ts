// second tier: time
import { spawn } from 'node:child_process'
import { request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { field } from 'caduceus'
import { defineTool } from 'caduceus/server'
import { inRoot } from '../../support/root.js'
import { suite } from '../../support/suite.js'
import { initialize, RawClient } from '../_client.js'
import { as, byName } from '../_principals.js'
import { startTestServer } from '../_servers.js'
import { posted, startStateless } from '../_stateless.js'

const test = suite('isolated handlers behind transports', { timeout: 30_000 })
const kinds = ['thread', 'process'] as const
const one = { threads: 1, processes: 1 }

for (const kind of kinds) {
  test(`${kind}: the end of a session ends its calls, even spinning ones`, async (t) => {
    const server = await startTestServer(t, [heavy(kind)], { isolation: one })
    const [spinning, other] = [new RawClient(t, server.url), new RawClient(t, server.url)]
    await spinning.open()
    await other.open()
    const where = await other.text('heavy', { what: 'where' })
    const spun = spinning.call('heavy', { what: 'spin' }).catch(() => {})
    await until(() => about(server).includes('1 at work'))
    assert.is((await spinning.send('DELETE', undefined, spinning.headers())).status, 204)
    assert.is.not(await other.text('heavy', { what: 'where' }), where)
    await spun
  })

  test(`${kind}: a 2026-07-28 client that hangs up ends its spinning call`, async (t) => {
    const { server, send } = await startStateless(t, { tools: [heavy(kind)] }, { isolation: one })
    const call = (what: string) => posted('tools/call', { name: 'heavy', arguments: { what } })
    const where = textOf(await send(call('where')))
    const { body, headers } = call('spin')
    const hung = request(String(server.url), {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...headers,
      },
    })
    hung.on('error', () => {})
    hung.end(JSON.stringify(body))
    await until(() => about(server).includes('1 at work'))
    hung.destroy()
    assert.is.not(textOf(await send(call('where'))), where)
  })

  test(`${kind}: an isolated handler knows its principal`, async (t) => {
    const http = { authenticate: byName }
    const server = await startTestServer(t, [heavy(kind)], { http })
    const client = new RawClient(t, server.url)
    client.own = { ...as('ada'), 'x-tenant': 'a' }
    await client.open()
    assert.equal(JSON.parse(await client.text('heavy', { what: 'caller' })), {
      ...{ subject: 'ada', scopes: ['read'], tenant: 'a', transport: 'http' },
      refused: { code: 403, data: { scopes: ['write'] } },
    })
    const refused = await client.post({
      ...{ jsonrpc: '2.0', id: 'x', method: 'tools/call' },
      params: { name: 'heavy', arguments: { what: 'scope' } },
    })
    assert.is(refused.status, 403)
  })
}

test('output of isolated handlers does not reach stdout', async (t) => {
  const program = inRoot('.t', 'test', 'server', 'isolation', '_stdio-program.js')
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  const said = { out: '', err: '' }
  child.stdout.on('data', (chunk) => (said.out += chunk))
  child.stderr.on('data', (chunk) => (said.err += chunk))
  const send = (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`)
  send(initialize('raw'))
  send({ jsonrpc: '2.0', method: 'notifications/initialized' })
  for (const [id, name] of kinds.entries()) {
    const params = { name, arguments: { what: 'print', text: `printed by a ${name}` } }
    send({ jsonrpc: '2.0', id: `call ${id}`, method: 'tools/call', params })
    await until(() => said.out.includes(`"call ${id}"`) && said.err.includes(`printed by a ${name}`))
  }
  child.stdin.end()
  const code = await new Promise((resolve) => child.once('close', resolve))
  assert.is(code, 0)
  for (const line of said.out.trim().split('\n')) assert.is(JSON.parse(line).jsonrpc, '2.0')
})

function heavy(isolate: (typeof kinds)[number]) {
  const input = { what: field.string(), text: field.string().optional() }
  const module = new URL('./_heavy.js', import.meta.url)
  return defineTool({ name: 'heavy', input, isolate, module })
}

function about(server: { inspect(): { children: readonly { name: string; about?: string }[] } }): string {
  return server.inspect().children.find(({ name }) => name === 'isolation')?.about ?? ''
}

function textOf({
  messages,
}: {
  messages: readonly { result?: { content?: readonly { text: string }[] } }[]
}) {
  return messages.at(-1)?.result?.content?.[0]?.text
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await pause(10)
}

test.run()
