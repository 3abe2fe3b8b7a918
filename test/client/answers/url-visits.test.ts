import * as assert from 'uvu/assert'
import type { Client, StartClientOptions } from 'caduceus/client'
import { type ElicitResult, type ElicitUrlParams, McpError, urlElicitations } from 'caduceus/protocol'
import { createFakeClock } from 'caduceus/runtime'
import { TransportError } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import type { RawOptions } from '../../support/raw-answers.mjs'
import { suite, type TestContext } from '../../support/suite.js'
import { near } from '../_near.js'
import { rejection, watch, watchNear } from '../_raw.js'

const test = suite('a server that wants a page to be visited first (-32042)')

const page = (elicitationId: string) => ({
  mode: 'url',
  message: 'please',
  url: `https://example.com/${elicitationId}`,
  elicitationId,
})
const one = { elicitations: [page('e1')] }
const complete = (client: Client, elicitationId: string) =>
  client.callTool('tell', { method: 'notifications/elicitation/complete', params: { elicitationId } })

type Said = Pick<ElicitResult, 'action'>

/** A client whose user sees pages, and says what `url` says. */
async function ready(
  t: TestContext,
  url?: (params: ElicitUrlParams, client: Client) => Promise<Said> | Said | undefined,
  server: Partial<RawOptions> = {},
  options: Partial<StartClientOptions> = {},
) {
  let client: Client | undefined
  const shown = heard<string | undefined>()
  const onElicit = {
    url: async (params: ElicitUrlParams): Promise<Said> => {
      shown.add(params.elicitationId)
      return (await url?.(params, client as Client)) ?? { action: 'accept' }
    },
  }
  const watched = watchNear(t, { ...(url !== undefined && { onElicit }), ...options }, server)
  client = watched.client
  await client.ready()
  return { ...watched, shown }
}

test('without a URL handler the call rejects at once with the pages to visit', async (t) => {
  const { client } = await ready(t)
  const error = await rejection(client.callTool('visit', one))
  assert.is(error.code, -32042)
  assert.equal(urlElicitations(error), [page('e1')])
})

test('other errors, and lists with other entries, give no pages', () => {
  const data = (elicitations: unknown) => new McpError(-32042, 'x', { data: { elicitations } })
  assert.equal(urlElicitations(new McpError(-32602, 'x', { data: one })), [])
  for (const wrong of [undefined, 'x', {}, [null], [page('a'), { mode: 'form' }], [{ ...page('a'), url: 7 }]])
    assert.equal(urlElicitations(data(wrong)), [])
  const { elicitationId: _, ...nameless } = page('a')
  assert.equal(urlElicitations(data([nameless])), [])
  for (const error of [undefined, null, 'x', new Error('x')]) assert.equal(urlElicitations(error), [])
})

test('the call is retried once, after every page is reported as complete', async (t) => {
  const { client, shown } = await ready(t, () => undefined)
  const call = client.callTool('visit', { elicitations: [page('e1'), page('e2')] })
  for (const id of ['e1', 'e2']) await shown.next((name) => name === id)
  await complete(client, 'of others')
  await complete(client, 'e1')
  await complete(client, 'e1')
  assert.is((await client.callTool('count')).text, '2', 'one page is not visited yet')
  await complete(client, 'e2')
  assert.is((await call).text, 'visited 3')
})

test('a completion that arrives while the user decides counts; so do raw requests', async (t) => {
  const { client } = await ready(t, async ({ elicitationId = '' }, own) => {
    await complete(own, elicitationId)
    return { action: 'accept' }
  })
  const result = await client.request('tools/call', { name: 'visit', arguments: one })
  assert.equal(result.content, [{ type: 'text', text: 'visited 2' }])
})

for (const end of ['is closed', 'fails for good'] as const)
  test(`a client that ${end} rejects at once with the pages to be visited`, async (t) => {
    const { transport, cut } = near(() => ({ error: { code: -32042, message: 'visit', data: one } }))
    const shown = heard<void>()
    const url = (): Said => {
      shown.add()
      return { action: 'accept' }
    }
    const { client } = watch(t, { transport, onElicit: { url }, timeout: 3_600_000 })
    await client.ready()
    const call = rejection(client.callTool('visit'))
    await shown.next()
    // the user has agreed, and the answer is on its way to where the visit is waited for
    await new Promise(setImmediate)
    if (end === 'is closed') await client.close()
    else cut({ error: new TransportError('CONNECT_FAILED', 'gone'), fatal: true })
    assert.is((await call).code, -32042)
  })

test('a call is retried once for pages: a second demand rejects', async (t) => {
  const { client, shown } = await ready(t, async (_, own) => {
    await complete(own, 'e1')
    return { action: 'accept' }
  })
  const error = await rejection(client.callTool('visit', { ...one, times: 9 }))
  assert.equal([error.code, shown.all.length], [-32042, 1])
  assert.is((await client.callTool('count')).text, '3')
})

test('a user who declines rejects the call, whatever the server says', async (t) => {
  for (const action of ['decline', 'cancel'] as const) {
    const { client } = await ready(t, async (_, own) => {
      await complete(own, 'e1')
      return { action }
    })
    assert.is((await rejection(client.callTool('visit', one))).code, -32042)
    assert.is((await client.callTool('count')).text, '2')
  }
})

test('without a completion notice the call rejects with -32042 at its timeout', async (t) => {
  const clock = createFakeClock()
  const { client, shown } = await ready(t, () => undefined, {}, { clock })
  const given = rejection(client.callTool('visit', one, { timeout: 200 }))
  await shown.next()
  // the user has agreed, and the answer is on its way to where the visit is waited for
  await new Promise(setImmediate)
  await clock.advance(216)
  const error = await given
  assert.equal(urlElicitations(error), [page('e1')])
  assert.is((await client.callTool('count')).text, '2')
})

test('an aborted call and a closed client do not wait for the user', async (t) => {
  const { client, shown } = await ready(t, () => undefined)
  const controller = new AbortController()
  const given = rejection(client.callTool('visit', one, { signal: controller.signal }))
  await shown.next()
  controller.abort()
  assert.is((await given).code, 'CANCELLED')
  const closed = rejection(client.callTool('visit', { ...one, times: 9 }))
  await shown.next()
  await client.close()
  assert.is((await closed).code, -32042)
})

test('an error of the URL handler rejects the call', async (t) => {
  const { client } = await ready(t, () => {
    throw new Error('no browser')
  })
  const error = await rejection(client.callTool('visit', one))
  assert.is(error.code, 'UNANSWERED')
  assert.match(error.message, 'no browser')
})

test('a wrong or too long list of pages, or an older revision, asks no user', async (t) => {
  const { client, shown } = await ready(t, () => undefined)
  const many = Array.from({ length: 101 }, (_, at) => page(`e${at}`))
  for (const elicitations of [[], 'x', [{ mode: 'form' }], many])
    assert.is((await rejection(client.callTool('visit', { elicitations, times: 9 }))).code, -32042)
  const asMany = await ready(t, () => ({ action: 'decline' }))
  await rejection(asMany.client.callTool('visit', { elicitations: many.slice(1), times: 9 }))
  assert.is(asMany.shown.all.length, 100)
  const older = await ready(t, () => undefined, { init: '2025-06-18' })
  assert.is((await rejection(older.client.callTool('visit', one))).code, -32042)
  assert.equal([...shown.all, ...older.shown.all], [])
})

test.run()
