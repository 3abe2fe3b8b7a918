// second tier: third party
// time limit: 60 s
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { Client, withClient } from 'caduceus/client'
import { defineServer, defineTool, Server } from 'caduceus/server'
import { http } from 'caduceus/transports'
import * as everyday from 'caduceus'
import * as testing from 'caduceus/testing'
import { runNode } from '../support/project.js'
import { inRoot, root } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('programs of server/from-the-sdk.md', { timeout: 30_000 })

const place = ['.t', 'test', 'examples', 'sdk']

for (const name of ['their-server.mjs', 'our-server.js']) {
  test(`${name} counts for each session, and refuses what is no number`, async (t) => {
    const server = spawn(process.execPath, [inRoot(...place, name)], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.after(() => server.kill('SIGKILL'))
    const url = await new Promise<string>((resolve) =>
      server.stdout.once('data', (line) => resolve(String(line).trim())),
    )
    for (let session = 0; session < 2; session++) {
      await withClient({ transport: http(url), logger: false }, async (client) => {
        assert.is((await client.callTool('count')).text, '1')
        assert.is((await client.callTool('count', { by: 2 })).text, '3')
        const { isError, text } = await client.callTool('count', { by: 'two' })
        assert.is(isError, true)
        assert.match(text, 'by')
      })
    }
  })
}

for (const name of ['their-client.mjs', 'our-client.js']) {
  test(`${name} continues with a new server when the old one has died`, async (t) => {
    const server = inRoot('test', 'support', 'raw-server.mjs')
    const args = [inRoot(...place, name), process.execPath, server]
    const { code, output } = await runNode(args, root, t.signal)
    const own = output.split('\n').filter((line) => !/^(?:got |going down)/.test(line))
    assert.equal(own, ['1', 'the server has gone', '1', ''])
    assert.is(code, 0)
  })
}

test('every function of ours that the page names is there', async () => {
  const page = readFileSync(inRoot('server', 'from-the-sdk.md'), 'utf8')
  const ours = [...page.matchAll(/^\| .+? \| (.+?) \| .*\|$/gm)].map(([, cell = '']) => cell)
  const called = ours.flatMap((cell) => [...cell.matchAll(/(?:(client|server|ctx)\.)?\b([a-zA-Z]+)\(/g)])
  const members = {
    client: Client.prototype,
    server: Server.prototype,
    ctx: await contextPrototype(),
    plain: { ...everyday, ...testing },
  }
  assert.ok(called.length > 30, `${called.length} functions`)
  for (const [, owner = 'plain', name = ''] of called) {
    const found = Object.getOwnPropertyDescriptor(members[owner as keyof typeof members], name)
    // a getter: `client.tools()`
    assert.ok(typeof found?.value === 'function' || found?.get !== undefined, `${owner}.${name}`)
  }
})

/** That of the context a handler is given. */
async function contextPrototype(): Promise<object> {
  const given: object[] = []
  const tool = defineTool({ name: 'see', run: (_, ctx) => void given.push(ctx) })
  const pair = await testing.connect(defineServer({ name: 'seen', version: '1', tools: [tool] }))
  await pair.client.callTool('see')
  await pair.close()
  return Object.getPrototypeOf(given[0])
}

test.run()
