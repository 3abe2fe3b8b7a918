import * as assert from 'uvu/assert'
import { allRevisions, dialect20251125 } from 'caduceus/protocol'
import { systemWorld } from 'caduceus/runtime'
import { definePrompt, defineServer, defineTool } from 'caduceus/server'
import type { Peer } from 'caduceus/transports'
import { hearingOf } from '../../../server/catalog/authorization.js'
import { Catalog } from '../../../server/catalog/catalog.js'
import { suite } from '../../support/suite.js'
import { parts } from './_scoped.js'

const test = suite('cursors of lists')
const viewer = {
  dialect: dialect20251125,
  peer: { transport: 'http', headers: {}, remoteAddress: undefined },
}
const keys = ['a secret of the tests, and of nobody else']

function open(names: string, cursorKeys?: readonly string[], name = 'lists', hidden = ''): Catalog {
  const scopesOf = (tool: string) => (hidden.includes(tool) ? { scopes: ['kept'] } : {})
  const tools = [...names].map((tool) => defineTool({ name: tool, ...scopesOf(tool), run: () => '' }))
  const prompts = [...names].map((name) => definePrompt({ name, get: () => '' }))
  const definition = defineServer({ name, version: '1', tools, prompts })
  return new Catalog(definition, { pageSize: 2, revisions: allRevisions, cursorKeys }, systemWorld)
}

function page(catalog: Catalog, cursor?: string): { names: string; next: string } {
  const { tools, nextCursor = '' } = catalog.tools.page(cursor, viewer).result
  return { names: tools.map(({ name }) => name).join(''), next: nextCursor }
}

test('a list that changes between pages skips and repeats nothing', () => {
  for (const [gone, expected] of [
    ['a', 'cd'],
    ['b', 'cd'],
    ['c', 'de'],
  ] as const) {
    const catalog = open('abcde')
    const { names, next } = page(catalog)
    assert.is(names, 'ab')
    catalog.remove('tool', gone)
    assert.is(page(catalog, next).names, expected)
  }
})

test('a forged, changed or foreign cursor is refused', () => {
  const catalog = open('abcde')
  const { next } = page(catalog)
  const changed = `${next.slice(0, -1)}${next.endsWith('A') ? 'B' : 'A'}`
  for (const cursor of [btoa('offset:2'), '', 'x', changed, page(open('abcde', undefined, 'others')).next])
    assert.throws(() => page(catalog, cursor), /cursor: expected a nextCursor of this list/)
  assert.throws(() => catalog.prompts.page(next, viewer), /cursor/)
})

test.slow('a page ends before it has more names, values or text than clients read', () => {
  const named = Object.fromEntries(Array.from({ length: 15_000 }, (_, n) => [`n${n}`, 0]))
  const valued = Array.from({ length: 45_000 }, () => 0)
  for (const [value, perPage] of [
    [named, 2],
    [valued, 2],
    ['x'.repeat(900_000), 2],
    ['x', 5],
  ] as const) {
    const tools = [...'abcde'].map((name) => defineTool({ name, meta: { 'x/y': value }, run: () => '' }))
    const definition = defineServer({ name: 'long', version: '1', tools })
    const catalog = new Catalog(definition, { pageSize: 10, revisions: allRevisions }, systemWorld)
    const { names, next } = page(catalog)
    assert.is(names, 'abcde'.slice(0, perPage))
    assert.is(next === '', perPage === 5)
  }
})

test('programs that share keys continue lists of one another by key', () => {
  const { next } = page(open('abcde', keys))
  assert.is(page(open('xabcde', keys), next).names, 'cd')
})

test('without shared keys a cursor goes on by key, or fails if the key is gone', () => {
  const { next } = page(open('abcde'))
  assert.is(page(open('xabcde'), next).names, 'cd')
  assert.throws(() => page(open('acde'), next), /cursor: expected a nextCursor of this list/)
})

test('a forged cursor does not tell a hidden component from a missing one', () => {
  // its program shows everybody what another one keeps
  const { next } = page(open('abcde'))
  for (const other of [open('abcde', undefined, 'lists', 'b'), open('acde')])
    assert.throws(() => page(other, next), /cursor: expected a nextCursor of this list/)
})

test('pages are kept for so many sets of scopes and no more', () => {
  const tools = Array.from({ length: 10 }, (_, n) =>
    defineTool({ name: `t${n}`, scopes: [`s${n}`], run: () => '' }),
  )
  const definition = defineServer({ name: 'test', version: '1', tools })
  const catalog = new Catalog(definition, { pageSize: 500, revisions: allRevisions }, systemWorld)
  const page = (set: number) => {
    const scopes = tools.map((_, n) => `s${n}`).filter((_, n) => (set >> n) % 2 === 1)
    // what nothing takes makes no difference
    const principal = { issuer: 'test', subject: 'ada', scopes: [...scopes, `own${set % 3}`] }
    const peer: Peer = { transport: 'http', headers: {}, remoteAddress: undefined, principal }
    return catalog.tools.page(undefined, { dialect: dialect20251125, peer })
  }
  const first = page(1)
  assert.is(page(1), first, 'written once')
  for (let set = 2; set < 66; set++) page(set)
  assert.is.not(page(1), first, 'forgotten, and written anew')
  assert.equal(page(1), first)
  const recent = page(65)
  for (let set = 100; set < 160; set++) page(set)
  page(65)
  for (let set = 160; set < 170; set++) page(set)
  assert.is(page(65), recent, 'what is in use is kept')
})

test('changes are kept from those who lack scopes of resources, or of families', () => {
  const peer: Peer = { transport: 'http', headers: {}, remoteAddress: undefined }
  const { resources = [], resourceTemplates = [] } = parts
  const allowed = (more: Partial<typeof parts>) => {
    const definition = defineServer({ name: 'test', version: '1', ...more })
    const catalog = new Catalog(definition, { pageSize: 500, revisions: allRevisions }, systemWorld)
    return ['x://kept', 'kept://a'].filter((uri) => hearingOf(uri, peer, catalog, '') !== undefined)
  }
  assert.equal(allowed({ resources }), ['kept://a'])
  assert.equal(allowed({ resourceTemplates }), ['x://kept'])
  assert.equal(allowed({ resources, resourceTemplates }), [])
})

test.run()
