import * as assert from 'uvu/assert'
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  type ServerError,
} from 'caduceus/server'
import { suite } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { startParts } from '../_servers.js'

const test = suite('server/definitions/presented')

const icons = [
  { src: 'https://a.example/i.png', mimeType: 'image/png', sizes: ['48x48', 'any'], theme: 'dark' },
] as const
const meta = { 'a.example/group': { order: 1 } }
const hints = { audience: ['user'], priority: 0.5, lastModified: '2025-01-12T15:00:58Z' } as const
const parts = {
  icons,
  websiteUrl: 'https://a.example',
  tools: [defineTool({ name: 't', icons, meta, run: () => '' })],
  resources: [defineResource({ uri: 'x:r', name: 'r', icons, meta, annotations: hints, read: () => '' })],
  resourceTemplates: [
    defineResourceTemplate({
      uriTemplate: 'x:{a}',
      name: 'f',
      icons,
      meta,
      annotations: hints,
      read: () => '',
    }),
  ],
  prompts: [definePrompt({ name: 'p', icons, meta, get: () => '' })],
}
const lists = ['tools', 'resources', 'resourceTemplates', 'prompts'] as const

async function listAll(client: RawClient): Promise<Record<string, unknown>[]> {
  const all: Record<string, unknown>[] = []
  for (const list of lists) {
    const method = list === 'resourceTemplates' ? 'resources/templates/list' : `${list}/list`
    const { result } = await client.ask(method)
    all.push(...((result?.[list] ?? []) as Record<string, unknown>[]))
  }
  return all
}

test('icons, _meta and annotations of every kind of component are listed', async (t) => {
  const { client } = await startParts(t, parts)
  const all = await listAll(client)
  assert.is(all.length, 4)
  for (const shown of all) assert.equal([shown.icons, shown._meta], [icons, meta])
  assert.equal([all[1]?.annotations, all[2]?.annotations], [hints, hints])
})

test('older clients are not sent icons and annotations they lack', async (t) => {
  const { server } = await startParts(t, parts)
  const shown = await listAll(await new RawClient(t, server.url).open('old', '2024-11-05'))
  assert.ok(shown.every((one) => !('icons' in one) && !('_meta' in one)))
  assert.equal(shown[1]?.annotations, { audience: ['user'], priority: 0.5 })
})

test('the icons and the page of a server are told when a session opens', async (t) => {
  const { server } = await startParts(t, parts)
  const client = new RawClient(t, server.url)
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } }
  const { result } = await client.ask('initialize', params)
  assert.equal(result?.serverInfo, { name: 'test', version: '1', websiteUrl: 'https://a.example', icons })
})

test('scopes are words that appear in no list', () => {
  const tool = defineTool({ name: 't', scopes: ['files:read'], run: () => '' })
  assert.equal(tool.scopes, ['files:read'])
  assert.ok(Object.isFrozen(tool.scopes))
  assert.is(defineTool({ name: 't', run: () => '' }).scopes, undefined)
})

const bad: [object, string, RegExp][] = [
  [{ icons: {} }, 'icons', /^tool "t": icons: expected an array of icons/],
  [{ icons: ['x'] }, 'icons[0]', /^tool "t": icons\[0\]: expected an object with src/],
  [{ icons: [{ src: 'javascript:alert(1)' }] }, 'icons[0].src', /expected a uri with https: or data:/],
  [{ icons: [{ src: 'http://a.example' }] }, 'icons[0].src', /expected a uri with https: or data:/],
  [{ icons: [{ src: 'https://a', sizes: ['48'] }] }, 'icons[0].sizes', /expected an array of sizes such as/],
  [{ icons: [{ src: 'https://a', theme: 'red' }] }, 'icons[0].theme', /expected light or dark/],
  [{ icons: [{ src: 'https://a', alt: 'x' }] }, 'alt', /expected a field among src, mimeType/],
  [{ meta: [] }, 'meta', /^tool "t": meta: expected an object/],
  [{ meta: { a: 1n } }, 'meta', /^tool "t": meta: expected an object that has JSON/],
  [{ scopes: 'a' }, 'scopes', /^tool "t": scopes: expected an array of words/],
  [{ scopes: ['a b'] }, 'scopes', /^tool "t": scopes: expected an array of words/],
]

for (const [fields, field, message] of bad) {
  test(`unusable icons and annotations are refused: ${message.source} (${field})`, () => {
    assert.throws(
      () => defineTool({ name: 't', run: () => '', ...fields }),
      ({ code, data, message: text }: ServerError) =>
        code === 'BAD_DEFINITION' && (data as { field: string }).field === field && message.test(text),
    )
  })
}

const badHints: [object, string][] = [
  [{ audience: 'user' }, 'annotations.audience'],
  [{ audience: ['model'] }, 'annotations.audience'],
  [{ priority: 2 }, 'annotations.priority'],
  [{ lastModified: 1 }, 'annotations.lastModified'],
  [{ other: 1 }, 'other'],
]

for (const [annotations, field] of badHints) {
  test(`hints of a resource are what the protocol knows: ${JSON.stringify(annotations)}`, () => {
    assert.throws(
      () => defineResource({ uri: 'x:r', name: 'r', annotations, read: () => '' } as never),
      ({ code, data }: ServerError) =>
        code === 'BAD_DEFINITION' && (data as { field: string }).field === field,
    )
  })
}

test.run()
