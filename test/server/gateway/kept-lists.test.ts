import { mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { files, gateway, type StartedUpstream, startServer } from 'caduceus/server'
import { until } from 'caduceus/testing'
import { serveHttp } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { byHand } from './_by-hand.js'

const test = suite('gateway: what servers had when it ran last')

/** A gateway whose engine is a folder, and a client that has connected. */
async function run(t: TestContext, folder: string, up: StartedUpstream) {
  const server = await startServer(gateway({ up }, { startTimeout: 60_000 }), {
    transport: serveHttp(),
    engine: files({ folder }),
    logger: false,
  })
  t.after(() => server.stop())
  const client = await new RawClient(t, server.url).open()
  const names = async (): Promise<string> => {
    const { result } = await client.ask('tools/list')
    const { tools } = result as unknown as { readonly tools: readonly { readonly name: string }[] }
    return tools.map(({ name }) => name).join()
  }
  /** Ends it once its lists are kept, which nobody waits for. */
  const end = async (): Promise<void> => {
    await until(async () => {
      // each answer has it looked again
      await client.ask('ping')
      const kept = await readdir(join(folder, 'values')).catch(() => [])
      return kept.some((name) => name.endsWith('.value'))
    })
    await server.stop()
  }
  return { server, client, names, end }
}

/** A start that the test lets go on. */
function held(tools: readonly string[]) {
  let release = (): void => {}
  let starts = 0
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const start = async () => {
    starts += 1
    await released
    return byHand({ tools }).client
  }
  return { start, release: () => release(), starts: () => starts }
}

test('is offered at once, until they tell what they have now', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'kept-'))
  const first = await run(t, folder, { start: () => byHand({ tools: ['read', 'erase'] }).client })
  assert.is(await first.names(), 'up__read,up__erase')
  await first.end()
  const { start, release } = held(['read', 'write'])
  const second = await run(t, folder, { start })
  assert.is(await second.names(), 'up__read,up__erase')
  const call = second.client.text('up__read')
  release()
  await until(async () => (await second.names()) === 'up__read,up__write')
  assert.is(await call, 'done')
})

test('keeps a lazy server from being started by a list', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'kept-'))
  const first = held(['read'])
  first.release()
  const before = await run(t, folder, { lazy: true, start: first.start })
  assert.is(await before.names(), 'up__read')
  assert.is(first.starts(), 1)
  await before.end()
  const next = held(['read'])
  next.release()
  const after = await run(t, folder, { lazy: true, start: next.start })
  assert.is(await after.names(), 'up__read')
  assert.is(next.starts(), 0)
  assert.is(await after.client.text('up__read'), 'done')
  assert.is(next.starts(), 1)
})

test('options apply to it', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'kept-'))
  const first = await run(t, folder, { start: () => byHand({ tools: ['read', 'erase'] }).client })
  await first.names()
  await first.end()
  const second = await run(t, folder, { start: held([]).start, options: { deny: ['erase'] } })
  assert.is(await second.names(), 'up__read')
})

test.run()
