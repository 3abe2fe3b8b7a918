import * as assert from 'uvu/assert'
import { dialect20251125 } from '../../../protocol/dialects/2025-11-25.js'
import { allRevisions } from '../../../protocol/dialects/versions.js'
import { Catalog } from '../../../server/catalog/catalog.js'
import { definePrompt } from '../../../server/definitions/define-prompt.js'
import { defineServer } from '../../../server/definitions/define-server.js'
import { defineTool } from '../../../server/definitions/define-tool.js'
import { systemWorld } from '../../../runtime/time/world.js'
import { suite } from '../../support/suite.js'

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

test.run()
