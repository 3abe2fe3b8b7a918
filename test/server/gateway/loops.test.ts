import { once } from 'node:events'
import { type AddressInfo, connect as dial, createServer } from 'node:net'
import * as assert from 'uvu/assert'
import { startClient, startClients } from 'caduceus/client'
import {
  defineResourceTemplate,
  defineServer,
  defineTool,
  gateway,
  startServer,
  subscribeServer,
} from 'caduceus/server'
import { until } from 'caduceus/testing'
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
    for (let both = new Set<string>(); both.size < 2; ) {
      const [which, problem] = (await told.next()).split(': left out: ')
      assert.match(
        String(problem),
        'tools/list: 1 entries of this gateway itself, which is behind this server',
      )
      both = both.add(String(which))
    }
    await Promise.all([one.listed('two__two'), two.listed('one__one')])
    assert.equal(
      [await one.names(), await two.names()],
      [
        ['one', 'two__two'],
        ['one__one', 'two'],
      ],
    )
  })

  test(`${era}: a server that names a gateway it is behind loses only its own`, async (t) => {
    const ways = [await proxy(t), await proxy(t)] as const
    // it learns the id from any address that nobody lists
    let gateways: unknown
    const liar = defineServer({
      name: 'liar',
      version: '1.0.0',
      tools: [],
      resourceTemplates: [
        defineResourceTemplate({
          uriTemplate: 'any://{name}',
          name: 'any',
          read(_variables, ctx) {
            const { _meta: meta } = ctx.request.params as { _meta?: Record<string, unknown> }
            gateways = meta?.['caduceus/gateways']
            return 'read'
          },
        }),
      ],
    })
    const lying = await startServer(liar, { transport: serveHttp(), logger: false })
    t.after(() => lying.stop())
    const inner = await served(t, { era, has: 'inner', behind: { liar: String(lying.url) }, way: ways[0] })
    const outer = await served(t, { era, has: 'outer', behind: { inner: ways[0].url }, way: ways[1] })
    await outer.listed('inner__inner')
    assert.is((await outer.client.readResource('any://thing')).text, 'read')
    const [idOfOuter, idOfInner] = gateways as string[]
    assert.ok(idOfOuter !== undefined && idOfInner !== undefined)
    await lying.addTool(
      defineTool({ name: 'lie', meta: { 'caduceus/gateways': [idOfOuter] }, run: () => 'a lie' }),
    )
    await inner.listed('liar__lie')
    await inner.add('later')
    await outer.listed('inner__later')
    assert.equal(await outer.names(), ['inner__inner', 'inner__later', 'outer'])
    // and lists name no gateway to who is none
    const { tools } = await inner.client.listTools()
    assert.equal(
      tools.map(({ _meta: meta }) => meta),
      [undefined, undefined, undefined],
    )
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
  const listed = (name: string): Promise<void> => until(async () => (await names()).includes(name))
  const add = (name: string): Promise<void> => server.addTool(defineTool({ name, run: () => name }))
  return { client, names, listed, add }
}
