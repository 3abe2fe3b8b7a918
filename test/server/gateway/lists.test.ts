import * as assert from 'uvu/assert'
import { McpError } from 'caduceus/protocol'
import type { Upstream } from 'caduceus/server'
import { createFakeClock } from 'caduceus/runtime'
import {
  fetchLists,
  type Fetched,
  type FetchOptions,
  ListsTooLong,
  whyNot,
} from '../../../server/gateway/lists.js'
import type { UpstreamLists } from '../../../server/definitions/upstreams.js'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'

const test = suite('gateway: lists')

type Page = Readonly<Record<string, unknown>>
type Answer = (cursor: string | undefined) => Page | Promise<Page>

/** A client of a server that has what `answers` say, and the requests that it is sent. */
function clientOf(answers: Readonly<Record<string, Answer>>, capabilities: Page = { tools: {} }) {
  const asked: unknown[][] = []
  const client = {
    server: { capabilities },
    async request(method: string, params: { cursor?: string }, options: object) {
      asked.push([method, params.cursor, options])
      const answer = answers[method]
      if (answer === undefined) throw McpError.methodNotFound(method)
      return answer(params.cursor)
    },
  } as unknown as Upstream
  const whole = () => fetchLists(client, options())
  return { asked, client, whole, fetch: async () => plain((await whole()).lists) }
}

function options(former?: UpstreamLists): FetchOptions {
  return {
    signal: new AbortController().signal,
    clock: createFakeClock(),
    former,
    needsTemplates: false,
    onSome: () => {},
  }
}

/** The lists alone. */
function plain({ toolsKnown: _tools, templatesKnown: _templates, ...lists }: UpstreamLists): UpstreamLists {
  return lists
}

const toolsFrom = (start: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({ name: `t${start + index}` }))

test('only lists that the server says it has are asked for, anew each time', async () => {
  const { asked, fetch } = clientOf({ 'tools/list': () => ({ tools: [{ name: 'a' }] }) })
  assert.equal(await fetch(), { tools: [{ name: 'a' }], resources: [], templates: [], prompts: [] })
  assert.equal(
    asked.map(([method, , options]) => [method, (options as { fresh: boolean }).fresh]),
    [['tools/list', true]],
  )
})

test('a server with resources that knows no templates has none', async () => {
  const { fetch } = clientOf(
    {
      'resources/list': () => ({ resources: [{ uri: 'a:1' }, 'broken', null] }),
      'prompts/list': () => ({ prompts: 'broken' }),
    },
    { resources: {}, prompts: {} },
  )
  assert.equal(await fetch(), { tools: [], resources: [{ uri: 'a:1' }], templates: [], prompts: [] })
})

test('a server whose tools cannot be had is not taken for one without', async () => {
  const { fetch } = clientOf({})
  const error = await fetch().catch((error: unknown) => error)
  assert.ok(error instanceof McpError)
})

test('a list that a server does not know costs none of its others', async () => {
  const { whole } = clientOf(
    { 'tools/list': () => ({ tools: [{ name: 'a' }] }) },
    { tools: {}, prompts: {}, resources: {} },
  )
  const { lists, leftOut, problem } = await whole()
  assert.equal(plain(lists), { tools: [{ name: 'a' }], resources: [], templates: [], prompts: [] })
  assert.match(leftOut, /^resources\/list: .*; prompts\/list: /)
  assert.is(problem, '')
})

test('a list that fails is as it was, and is said to be asked for again', async () => {
  const fail = (): never => {
    throw new McpError(-32603, 'oops')
  }
  const { client, whole } = clientOf(
    { 'tools/list': () => ({ tools: [{ name: 'a' }] }), 'prompts/list': fail },
    { tools: {}, prompts: {} },
  )
  const { lists, problem } = await whole()
  assert.equal([lists.tools, lists.prompts], [[{ name: 'a' }], []])
  assert.is(problem, 'prompts/list: oops')
  const former = { tools: [], resources: [], templates: [], prompts: [{ name: 'p' }] }
  const later = await fetchLists(client, options(former))
  assert.equal(plain(later.lists), {
    tools: [{ name: 'a' }],
    resources: [],
    templates: [],
    prompts: [{ name: 'p' }],
  })
})

test('tools that fail are not taken for none, and stay as they were', async () => {
  const fail = (): never => {
    throw new McpError(-32603, 'oops')
  }
  const { client, whole } = clientOf(
    { 'tools/list': fail, 'prompts/list': () => ({ prompts: [{ name: 'p' }] }) },
    { tools: {}, prompts: {} },
  )
  const first = await whole()
  assert.equal([first.lists.toolsKnown, first.lists.prompts.length], [false, 1])
  const former = { tools: [{ name: 'a' }], resources: [], templates: [], prompts: [], toolsKnown: true }
  const { lists, problem } = await fetchLists(client, options(former))
  assert.is(lists.toolsKnown, true)
  assert.equal(plain(lists), { ...plain(former), prompts: [{ name: 'p' }] })
  assert.is(problem, 'tools/list: oops')
})

test('templates that fail stay as they were, and are told of where they matter', async () => {
  const { client } = clientOf(
    {
      'resources/list': () => ({ resources: [] }),
      'resources/templates/list': () => {
        throw new McpError(-32603, 'oops')
      },
    },
    { resources: {} },
  )
  const former = { tools: [], resources: [], templates: [{ uriTemplate: 'a:{b}' }], prompts: [] }
  const fetched = await fetchLists(client, options(former))
  const lists = { ...former, toolsKnown: true, templatesKnown: false }
  assert.equal(fetched, { lists, leftOut: '', problem: '', isWhole: true })
  const known = await fetchLists(client, options({ ...former, templatesKnown: true }))
  assert.is(known.lists.templatesKnown, true)
  const needed = await fetchLists(client, { ...options(former), needsTemplates: true })
  assert.is(needed.problem, 'resources/templates/list: oops')
})

test('a list is cut at ten thousand entries, and no page is asked for beyond', async () => {
  const { asked, whole } = clientOf({
    'tools/list': (cursor = '0') => ({
      tools: toolsFrom(Number(cursor), 3_000),
      nextCursor: `${+cursor + 3_000}`,
    }),
  })
  const {
    lists: { tools },
    leftOut,
  } = await whole()
  assert.equal([tools.length, tools.at(-1)], [10_000, { name: 't9999' }])
  assert.is(leftOut, 'tools/list: all after 10000 entries in 4 pages')
  assert.is(asked.length, 4)
})

test('a list of just ten thousand entries is whole, and one page may be too long', async () => {
  const just = clientOf({ 'tools/list': () => ({ tools: toolsFrom(0, 10_000) }) })
  assert.is((await just.whole()).leftOut, '')
  const more = clientOf({ 'tools/list': () => ({ tools: toolsFrom(0, 10_001) }) })
  assert.is((await more.whole()).leftOut, 'tools/list: all after 10000 entries in 1 pages')
})

test('an entry with more names, values or text than go into a list is left out', async () => {
  const named = Object.fromEntries(Array.from({ length: 40_001 }, (_, n) => [`n${n}`, 0]))
  const { whole } = clientOf({
    'tools/list': () => ({
      tools: [
        { name: 'named', _meta: named },
        { name: 'valued', _meta: { all: Array.from({ length: 100_001 }, () => 0) } },
        { name: 'long', description: 'x'.repeat(1024 * 1024) },
        { name: 'good', description: 'x'.repeat(50_000) },
      ],
    }),
  })
  const { lists, leftOut } = await whole()
  assert.equal(
    lists.tools.map(({ name }) => name),
    ['good'],
  )
  assert.match(leftOut, /entry 0 of a page has \d+ characters, \d+ values, 40003 names; .*entry 1 .*entry 2/)
})

test('of templates a thousand are taken, and with more they are not known', async () => {
  const templates = (count: number) => () => ({
    resourceTemplates: Array.from({ length: count }, (_, n) => ({ name: `t${n}`, uriTemplate: `t${n}:{x}` })),
  })
  const of = (count: number) =>
    clientOf(
      { 'resources/list': () => ({ resources: [] }), 'resources/templates/list': templates(count) },
      { resources: {} },
    ).client
  const { lists } = await fetchLists(of(1_000), options())
  assert.equal([lists.templates.length, lists.templatesKnown], [1_000, true])
  const more = await fetchLists(of(1_001), options(lists))
  assert.equal([more.lists.templates.length, more.lists.templatesKnown], [1_000, false])
  assert.is(more.leftOut, 'resources/templates/list: all after 1000 entries in 1 pages')
})

test('a list that does not come holds up the others for five seconds, once', async () => {
  let come = (_page: Page): void => {}
  const coming = new Promise<Page>((resolve) => {
    come = resolve
  })
  const clock = createFakeClock()
  const some = heard<Fetched>()
  const { client } = clientOf(
    { 'tools/list': () => ({ tools: [{ name: 'a' }] }), 'prompts/list': () => coming },
    { tools: {}, prompts: {} },
  )
  const all = fetchLists(client, { ...options(), clock, onSome: (fetched) => some.add(fetched) })
  await clock.advance(4_999)
  assert.equal(some.all, [])
  await clock.advance(1)
  const { lists, problem, isWhole } = await some.next()
  assert.equal([lists.tools, lists.prompts, isWhole], [[{ name: 'a' }], [], false])
  assert.is(problem, 'prompts/list: no answer yet, it is waited for')
  come({ prompts: [{ name: 'p' }] })
  assert.equal((await all).lists.prompts, [{ name: 'p' }])
  assert.equal([some.all.length, clock.pending], [1, 0])
})

test('tools that do not come are not known, but for those that were', async () => {
  const clock = createFakeClock()
  const some = heard<Fetched>()
  const { client } = clientOf(
    { 'tools/list': () => new Promise<Page>(() => {}), 'prompts/list': () => ({ prompts: [{ name: 'p' }] }) },
    { tools: {}, prompts: {} },
  )
  const onSome = (fetched: Fetched): void => void some.add(fetched)
  void fetchLists(client, { ...options(), clock, onSome })
  await clock.advance(5_000)
  const { lists } = await some.next()
  assert.equal([lists.toolsKnown, lists.prompts.length], [false, 1])
  const former = { tools: [{ name: 'a' }], resources: [], templates: [], prompts: [], toolsKnown: true }
  void fetchLists(client, { ...options(former), clock, onSome })
  await clock.advance(5_000)
  const later = await some.next()
  assert.is(later.lists.toolsKnown, true)
  assert.equal(plain(later.lists), { ...plain(former), prompts: [{ name: 'p' }] })
})

test('a list of empty pages ends after a thousand of them', async () => {
  const { asked, fetch } = clientOf({
    'tools/list': (cursor = '0') => ({ tools: [], nextCursor: `${+cursor + 1}` }),
  })
  assert.equal((await fetch()).tools, [])
  assert.is(asked.length, 1_000)
})

test('a cursor that comes again ends a list', async () => {
  const { asked, fetch } = clientOf({
    'tools/list': () => ({ tools: [{ name: 'a' }], nextCursor: 'again' }),
  })
  assert.is((await fetch()).tools.length, 2)
  assert.equal(
    asked.map(([, cursor]) => cursor),
    [undefined, 'again'],
  )
})

test('all lists together have 4 MiB at most, those of templates, too', async () => {
  const big = 'x'.repeat(768 * 1024)
  const entries = (field: string) => Array.from({ length: 2 }, (_, n) => ({ [field]: `${n}:${big}` }))
  const resources = { 'resources/list': () => ({ resources: entries('uri') }) }
  const templates = { 'resources/templates/list': () => ({ resourceTemplates: entries('uriTemplate') }) }
  const two = clientOf({ ...resources, ...templates }, { resources: {} })
  assert.is((await two.fetch()).templates.length, 2)
  const three = clientOf(
    { ...resources, ...templates, 'prompts/list': () => ({ prompts: entries('name') }) },
    { resources: {}, prompts: {} },
  )
  const error = await three.fetch().catch((error: unknown) => error)
  assert.ok(error instanceof ListsTooLong)
  assert.is((error as Error).message, 'its lists have more than 4194304 bytes')
  const late = clientOf(
    {
      'resources/list': () => ({ resources: [] }),
      'resources/templates/list': () => ({
        resourceTemplates: [...entries('uriTemplate'), ...entries('a'), ...entries('b')],
      }),
    },
    { resources: {} },
  )
  assert.ok((await late.fetch().catch((error: unknown) => error)) instanceof ListsTooLong)
})

test('an entry that alone fills a message is left out', async () => {
  const { whole } = clientOf({
    'tools/list': () => ({ tools: [{ name: 'x'.repeat(1024 * 1024) }, { name: 'a' }] }),
  })
  const { lists, leftOut } = await whole()
  assert.equal(lists.tools, [{ name: 'a' }])
  assert.is(leftOut, 'tools/list: entry 0 of a page has 1048587 characters, 1 values, 1 names')
})

test('of entries left out five are told of, short and on one line', async () => {
  const { whole } = clientOf({
    'tools/list': () => ({ tools: [] }),
  })
  assert.is((await whole()).leftOut, '')
  const client = {
    server: { capabilities: { tools: {} } },
    async request(_method: string, _params: object, { onBadEntry }: { onBadEntry: (told: string) => void }) {
      for (let n = 0; n < 8; n += 1) onBadEntry(`${n}\u001b[31m\n\u202e${'x'.repeat(1_000)}`)
      return { tools: [] }
    },
  } as unknown as Upstream
  const { leftOut } = await fetchLists(client, options())
  const parts = leftOut.split('; ')
  assert.is(parts.length, 6)
  assert.is(parts[0], `0?[31m??${'x'.repeat(292)}...`)
  assert.is(parts[5], '3 more')
})

test('why lists could not be had is told short and on one line', () => {
  const why = whyNot(new Error(`no\n\u001b${'x'.repeat(1_000)}`))
  assert.is(why, `its lists could not be had: no??${'x'.repeat(296)}...`)
})

test.run()
