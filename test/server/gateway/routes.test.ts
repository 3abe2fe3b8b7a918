import * as assert from 'uvu/assert'
import { parseUriTemplate } from 'caduceus/protocol'
import type { Component } from '../../../server/catalog/catalog.js'
import { NameClaims, routeOf, type RoutedTemplate } from '../../../server/gateway/routes.js'
import { suite } from '../../support/suite.js'

const test = suite('gateway: routes')

const plan = { separator: '__', prefix: true, servers: new Map() }

/** Servers in this order, with the addresses that they list and their templates, taken as a gateway takes them. */
function tableOf(servers: Readonly<Record<string, { uris?: string[]; templates?: string[] }>>) {
  const claims = new NameClaims(Object.keys(servers), plan)
  const held = new Set<string>()
  for (const [server, { uris = [], templates = [] }] of Object.entries(servers)) {
    const listedAs = (kind: Component['kind'], own: string): string => {
      const isTaken = held.has(`${kind} ${own}`) || claims.isOfAnother(kind, own, { server, own })
      const listed = isTaken ? `${claims.qualifierOf(server)}+${own}` : own
      held.add(`${kind} ${listed}`)
      return listed
    }
    const resources = uris.map((own) => ({
      kind: 'resource',
      uri: listedAs('resource', own),
      relayed: { own },
    }))
    const routed = templates.map((own): RoutedTemplate => {
      return {
        own,
        listed: listedAs('resourceTemplate', own),
        matcher: parseUriTemplate(own),
        isLike: () => false,
      }
    })
    claims.add(server, routed, resources as unknown as Component[])
  }
  return claims.table()
}

/** Two that want everything, before and after all others. */
const hostile = {
  uris: ['note://1', 'notes+note://1', 'notes+note://2', 'git+https://h/r'],
  templates: ['{+x}', 'notes+{+x}', '{scheme}://{+rest}'],
}

const table = tableOf({
  first: { uris: hostile.uris.slice(1), templates: hostile.templates },
  notes: { uris: ['note://1', 'note://2'], templates: ['note://t/{x}'] },
  git: {
    uris: ['git+https://h/r', 'https://h/r'],
    templates: ['git+https://{host}/tree/{x}', 'https://{host}/{x}'],
  },
  last: hostile,
})

/** Which step decides, and who is asked for what. */
const routes: readonly (readonly [address: string, step: string, ...aims: string[]])[] = [
  ['note://1', 'exact', 'notes note://1'],
  ['note://2', 'exact', 'notes note://2'],
  ['notes+note://1', 'qualified', 'notes note://1'],
  ['notes+note://2', 'qualified', 'notes note://2'],
  ['note://t/5', 'scheme', 'notes note://t/5'],
  ['notes+note://t/5', 'template', 'notes note://t/5'],
  ['notes+note://away', 'named', 'notes note://away', 'notes notes+note://away'],
  ['git+https://h/r', 'exact', 'git git+https://h/r'],
  ['https://h/r', 'exact', 'git https://h/r'],
  ['git+git+https://h/r', 'qualified', 'git git+https://h/r'],
  ['git+https://h/tree/main', 'template', 'git git+https://h/tree/main'],
  ['git+https://h/other', 'template', 'git https://h/other'],
  ['git+ssh://h/r', 'named', 'git ssh://h/r', 'git git+ssh://h/r'],
  ['first+note://1', 'template', 'first note://1'],
  ['first+notes+note://1', 'exact', 'first notes+note://1'],
  ['last+note://1', 'exact', 'last note://1'],
  ['last+git+https://h/r', 'exact', 'last git+https://h/r'],
  [
    'note://away',
    'unlisted',
    'notes note://away',
    'last note://away',
    'first note://away',
    'git note://away',
  ],
  ['odd:x', 'unlisted', 'first odd:x', 'notes odd:x', 'git odd:x', 'last odd:x'],
  ['nobody+x', 'unlisted', 'first nobody+x', 'notes nobody+x', 'git nobody+x', 'last nobody+x'],
  ['notes+', 'unlisted', 'first notes+', 'notes notes+', 'git notes+', 'last notes+'],
]

for (const [address, step, ...aims] of routes)
  test(`${address} is found by the step '${step}', in ${aims[0]?.split(' ')[0]}`, () => {
    const route = routeOf(table, address)
    assert.equal([route.step, ...route.aims.map(({ server, uri }) => `${server} ${uri}`)], [step, ...aims])
  })

test('a name routes by its server prefix, or to the tool renamed to it', () => {
  const servers = new Map([['b', { rename: { read: 'open', write: 'a__save' } }]])
  const claims = new NameClaims(['a', 'a__b', 'b', 'c d', 'c_d'], { ...plan, servers })
  const isOfAnother = (listed: string, server: string, own: string) =>
    claims.isOfAnother('tool', listed, { server, own })
  assert.is(isOfAnother('a__b__read', 'a', 'b__read'), true)
  assert.is(isOfAnother('a__b__read', 'a__b', 'read'), false)
  assert.is(isOfAnother('a__c__read', 'a', 'c__read'), false)
  assert.is(isOfAnother('open', 'a', 'open'), true)
  assert.is(isOfAnother('open', 'b', 'open'), true)
  assert.is(isOfAnother('open', 'b', 'read'), false)
  assert.is(isOfAnother('a__save', 'a', 'save'), true)
  assert.is(isOfAnother('a__save', 'b', 'write'), false)
  assert.is(isOfAnother('c_d__x', 'c d', 'x'), false)
  assert.is(isOfAnother('c_d__x', 'c_d', 'x'), false)
})

test('no two servers have the same word before the + of their addresses', () => {
  const claims = new NameClaims(['my notes', 'my-notes', 'my/notes'], plan)
  const words = ['my notes', 'my-notes', 'my/notes'].map((name) => claims.qualifierOf(name))
  assert.is(words[1], 'my-notes')
  assert.is(new Set(words).size, 3)
  assert.ok(words.every((word) => /^my-notes(-[\da-f]{8})?$/.test(word)))
})

test('the name of a server before an address may be in lower case, if it is free', () => {
  const cases = tableOf({ Notes: { uris: ['note://1'] }, Mail: { uris: ['m:1'] }, mail: { uris: ['m:2'] } })
  const asked = (uri: string) => routeOf(cases, uri).aims.map(({ server }) => server)
  for (const name of ['notes', 'NOTES']) assert.equal(asked(`${name}+note://1`), ['Notes'])
  assert.equal(asked('mail+m:2'), ['mail'])
  assert.equal(asked('Mail+m:1'), ['Mail'])
})

test.run()
