import { once } from 'node:events'
import { type AddressInfo, connect as dial, createServer } from 'node:net'
import * as assert from 'uvu/assert'
import { startClient, startClients } from 'caduceus/client'
import { defineTool, gateway, startServer, subscribeServer } from 'caduceus/server'
import { http, serveHttp } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('gateway: one that is behind itself', { timeout: 20_000 })
const eras = ['handshake', 'modern'] as const

for (const era of eras) {
  test(`${era}: behind a proxy it takes nothing of its own`, async (t) => {
    const told = heardOf(t)
    const way = await proxy(t)
    const { names } = await served(t, { era, has: 'own', behind: { self: way.url }, way })
    assert.match(await told.next(), /^self: its lists could not be had: .*among its own servers/)
    assert.equal(await names(), ['own'])
  })

  test(`${era}: of two that have each other, neither has its own twice`, async (t) => {
    const told = heardOf(t)
    const ways = [await proxy(t), await proxy(t)] as const
    const [one, two] = await Promise.all([
      served(t, { era, has: 'one', behind: { two: ways[1].url }, way: ways[0] }),
      served(t, { era, has: 'two', behind: { one: ways[0].url }, way: ways[1] }),
    ])
    assert.match(await told.next(), /^(?:one|two): this gateway is among its own servers, or theirs/)
    for (const name of [...(await one.names()), ...(await two.names())])
      assert.ok(['one', 'two', 'two__two', 'one__one'].includes(name), name)
  })
}

test('servers behind two gateways in a row are there; lists name no gateway', async (t) => {
  const [inner, outer] = [await proxy(t), await proxy(t)]
  await served(t, { era: 'handshake', has: 'inner', behind: {}, way: inner })
  const { client } = await served(t, {
    ...{ era: 'handshake', has: 'outer' },
    ...{ behind: { first: inner.url }, way: outer },
  })
  const { tools, _meta } = await client.listTools()
  assert.equal([tools.map(({ name }) => name).sort(), _meta], [['first__inner', 'outer'], undefined])
})

test.run()

function heardOf(t: TestContext) {
  const told = heard<string>()
  t.after(
    subscribeServer('gateway', (event) => {
      if (event.type === 'not_listed') told.add(`${event.upstream}: ${event.problem}`)
    }),
  )
  return told
}

type Proxy = Awaited<ReturnType<typeof proxy>>

/** Another address of what will listen on `target`. */
async function proxy(t: TestContext) {
  const way = { target: 0, url: '' }
  const server = createServer((near) => {
    const far = dial(way.target, '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const)
      from
        .on('error', () => to.destroy())
        .on('close', () => to.destroy())
        .pipe(to)
    t.after(() => near.destroy())
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  way.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  return way
}

interface Plan {
  readonly era: (typeof eras)[number]
  readonly has: string
  readonly behind: Readonly<Record<string, string>>
  readonly way: Proxy
}

async function served(t: TestContext, { era, has, behind, way }: Plan) {
  const plan = gateway(() =>
    startClients(Object.fromEntries(Object.entries(behind).map(([name, url]) => [name, { url }])), {
      logger: false,
      client: () => ({ era, backoff: { base: 10, cap: 50 } }),
    }),
  )
  const server = await startServer(plan, { transport: serveHttp(), logger: false })
  t.after(() => server.stop())
  await server.addTool(defineTool({ name: has, run: () => has }))
  way.target = Number(server.port)
  const client = await startClient({ name: 'caller', transport: http(String(server.url)), logger: false })
  t.after(() => client.close())
  const names = async (): Promise<string[]> => (await client.listTools()).tools.map(({ name }) => name).sort()
  return { client, names }
}
