import * as assert from 'uvu/assert'
import { defineResource, defineServer, defineTool, type Server } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { startBalancer } from '../../../scripts/cluster/balancer.js'
import { startAllowance } from '../../support/allowance.mjs'
import { heard } from '../../support/heard.js'
import type { Suite, TestContext } from '../../support/suite.js'
import { echo } from '../_servers.js'
import { form } from '../context/_asking.js'
import { kinds, connect } from './_callers.js'
import { eventually, startCluster } from './_servers.js'
import type { StartEngine } from './_three-suite.js'

const uri = 'file:///a'
const said = { role: 'user', content: { type: 'text', text: 'hello' } } as const

/** Clients of all kinds, none of which knows that its requests go to another node each. */
export function clientsSuite(test: Suite, startEngine: StartEngine): void {
  async function start(t: TestContext, drainDelay = 0) {
    const served = heard<number>()
    const cancelled = heard<number>()
    const definitions = [0, 1, 2].map((node) => {
      const talks = defineTool({
        name: 'talks',
        async run(_args, ctx) {
          served.add(node)
          ctx.progress(1, 2)
          const { content } = await ctx.elicit('who', form)
          const { content: text } = await ctx.sample('say', { messages: [said], maxTokens: 10 })
          return JSON.stringify([content, text])
        },
      })
      const works = defineTool({
        name: 'works',
        run: (_args, ctx) =>
          new Promise(() => {
            ctx.signal.addEventListener('abort', () => cancelled.add(node))
            ctx.progress(1)
          }),
      })
      const resources = [defineResource({ uri, name: 'a', read: () => 'a' })]
      return defineServer({ name: 'test', version: '1', tools: [echo, talks, works], resources })
    })
    const transport = serveHttp({ health: true, drainDelay })
    const servers = await startCluster(t, await startEngine(t), definitions, { transport })
    const answered: number[] = []
    const ports = servers.map(({ port = 0 }) => port)
    const balancer = await startBalancer(ports, ({ node }) => answered.push(node))
    t.after(() => balancer.close())
    return { servers: servers as [Server, Server, Server], url: balancer.url, served, cancelled, answered }
  }

  for (const kind of kinds) {
    test(`${kind}: calls with progress and questions work on alternating nodes`, async (t) => {
      const { url, answered } = await start(t)
      const caller = await connect(t, kind, url)
      let progress = 0
      const onProgress = (): void => {
        progress += 1
      }
      const expected = JSON.stringify([{ name: 'Ada' }, { type: 'text', text: 'hi' }])
      for (let calls = 0; calls < 4; calls += 1)
        assert.is(await caller.call('talks', { onProgress }), expected)
      const all = await Promise.all([1, 2, 3, 4].map(() => caller.call('talks', { onProgress })))
      assert.equal(new Set(all), new Set([expected]))
      assert.ok(progress >= 8, `${progress} times`)
      assert.equal([...new Set(answered)].sort(), [0, 1, 2])
    })

    test(`${kind}: receives changes made on any node`, async (t) => {
      const { url, servers } = await start(t)
      const caller = await connect(t, kind, url)
      await caller.subscribe(uri)
      for (const server of servers) {
        await server.resourceUpdated(uri)
        assert.is(await caller.news.next(), uri)
        await server.listChanged('tools')
        assert.is(await caller.news.next(), 'tools')
      }
    })

    test(`${kind}: cancels on another node`, async (t) => {
      const { url, cancelled } = await start(t)
      const caller = await connect(t, kind, url)
      for (let round = 0; round < 3; round += 1) {
        const controller = new AbortController()
        const call = caller.call('works', { signal: controller.signal, onProgress: () => controller.abort() })
        assert.is(await call.catch(() => 'cancelled'), 'cancelled')
        await cancelled.next()
      }
    })

    test(`${kind}: survives stopped and killed nodes`, async (t) => {
      // long enough for the balancer to see which nodes are ready
      const { url, servers } = await start(t, 300)
      const caller = await connect(t, kind, url)
      const expected = await caller.call('talks')
      const [first, second] = servers
      await first.stop()
      assert.is(await caller.call('talks'), expected)
      second.ref.kill()
      const talks = (): Promise<string> => caller.call('talks').catch(() => 'failed')
      const allowed = startAllowance(3_500)
      await eventually(async () => (await talks()) === expected)
      assert.ok(allowed.left() > 0)
      assert.is(await caller.call('talks'), expected)
    })
  }
}
