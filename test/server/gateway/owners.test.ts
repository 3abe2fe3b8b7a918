import * as assert from 'uvu/assert'
import { parseUriTemplate } from 'caduceus/protocol'
import { Owners } from '../../../server/gateway/owners.js'
import { suite } from '../../support/suite.js'

const test = suite('gateway: owners')

type Kind = 'tool' | 'prompt' | 'resource' | 'resourceTemplate'

const owner = (server: string, kind: Kind, own: string) => ({
  server,
  kind,
  own,
  matcher: kind === 'resourceTemplate' ? parseUriTemplate(own) : undefined,
})

const nothing = { tools: [], prompts: [], resources: [], templates: [] }

/** As many templates as `count` says, of one server that lists them all. */
function ownersWith(count: number): Owners {
  const templates = Array.from({ length: count }, (_, index) => `t${index}://{x}`)
  const known = templates.map(
    (own) => [`resourceTemplate ${own}`, owner('a', 'resourceTemplate', own)] as const,
  )
  const lists = { ...nothing, templates: templates.map((uriTemplate) => ({ uriTemplate })) }
  return new Owners(known, new Map([['a', lists]]))
}

test('a name stays with the server that still lists it, whatever its kind', () => {
  const lists = {
    tools: [{ name: 'read' }],
    prompts: [{ name: 'ask' }],
    resources: [{ uri: 'n://1' }],
    templates: [{ uriTemplate: 'n://t/{x}' }],
  }
  const kinds = { tool: 'read', prompt: 'ask', resource: 'n://1', resourceTemplate: 'n://t/{x}' } as const
  const known = Object.entries(kinds).map(
    ([kind, own]) => [`${kind} ${own}`, owner('a', kind as Kind, own)] as const,
  )
  const still = new Owners(known, new Map([['a', lists]]))
  const gone = new Owners(known, new Map([['a', nothing]]))
  for (const [kind, own] of Object.entries(kinds) as [Kind, string][]) {
    assert.is(still.isOfAnother(kind, own, 'b', own), true, kind)
    assert.is(still.isOfAnother(kind, own, 'a', 'other'), true, kind)
    assert.is(still.isOfAnother(kind, own, 'a', own), false, kind)
    assert.is(gone.isOfAnother(kind, own, 'b', own), false, kind)
  }
  assert.is(still.entries.size, 4)
})

test('a template keeps the addresses that it fits from others, and nothing else', () => {
  const known = [
    owner('a', 'resourceTemplate', 'n://one/{x}'),
    owner('a', 'resourceTemplate', 'n://two/{x}'),
    owner('a', 'resourceTemplate', '{+x}'),
  ].map((each) => [`${each.kind} ${each.own}`, each] as const)
  const templates = known.map(([, { own }]) => ({ uriTemplate: own }))
  const owners = new Owners(known, new Map([['a', { ...nothing, templates }]]))
  assert.is(owners.isOfAnother('resource', 'n://one/1', 'b', 'n://one/1'), true)
  assert.is(owners.isOfAnother('resource', 'n://two/1', 'b', 'n://two/1'), true)
  assert.is(owners.isOfAnother('resource', 'n://one/1', 'a', 'n://one/1'), false)
  assert.is(owners.isOfAnother('resource', 'n://three', 'b', 'n://three'), false)
  assert.is(owners.isOfAnother('resource', 'm://one/1', 'b', 'm://one/1'), false)
  assert.is(owners.isOfAnother('tool', 'n://one/1', 'b', 'n://one/1'), false)
})

test('a hundred templates of a server keep addresses, and no more', () => {
  const owners = ownersWith(101)
  assert.is(owners.isOfAnother('resource', 't99://x', 'b', 't99://x'), true)
  assert.is(owners.isOfAnother('resource', 't100://x', 'b', 't100://x'), false)
  assert.is(owners.entries.size, 101)
})

test.run()
