import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { acceptsRequest, type Dialect, type Revision } from '../../protocol/dialect.js'
import { fitNotification, fitParams, fitResult } from '../../protocol/fit.js'
import { isObject } from '../../protocol/json.js'
import type {
  Method,
  NotificationMethod,
  NotificationParams,
  Params,
  Result,
} from '../../protocol/methods.js'
import { readNotificationParams, readParams, readResult } from '../../protocol/params.js'
import { allHandshakeDialects } from '../../protocol/versions.js'
import { suite } from '../support/suite.js'
import { samples } from './_samples.js'

const test = suite('protocol/golden')
const newest: Revision = '2025-11-25'
const parts = ['results', 'params', 'notifications'] as const

type Messages = { readonly [Part in (typeof parts)[number]]: { readonly [name: string]: object } }

/** The fields that each type has, taken out of the official JSON schema of each revision. */
type Fields = { readonly [R in Revision]: { readonly [type: string]: readonly string[] } }

/** Where a type of the official schemas stands in the samples; `_meta` of a message itself is always allowed. */
const places: readonly [type: string, part: keyof Messages, path: readonly (string | number)[]][] = [
  ['Implementation', 'params', ['initialize', 'clientInfo']],
  ['Implementation', 'results', ['initialize', 'serverInfo']],
  ['ClientCapabilities', 'params', ['initialize', 'capabilities']],
  ['SamplingCapability', 'params', ['initialize', 'capabilities', 'sampling']],
  ['ElicitationCapability', 'params', ['initialize', 'capabilities', 'elicitation']],
  ['ServerCapabilities', 'results', ['initialize', 'capabilities']],
  ['Tool', 'results', ['tools/list', 'tools', 0]],
  ['CallToolParams', 'params', ['tools/call']],
  ['CallToolResult', 'results', ['tools/call']],
  ['TextContent', 'results', ['tools/call', 'content', 0]],
  ['ImageContent', 'results', ['tools/call', 'content', 1]],
  ['AudioContent', 'results', ['tools/call', 'content', 2]],
  ['ResourceLink', 'results', ['tools/call', 'content', 3]],
  ['EmbeddedResource', 'results', ['tools/call', 'content', 4]],
  ['Annotations', 'results', ['tools/call', 'content', 0, 'annotations']],
  ['TextResourceContents', 'results', ['tools/call', 'content', 4, 'resource']],
  ['TextContent', 'results', ['prompts/get', 'messages', 0, 'content']],
  ['EmbeddedResource', 'results', ['prompts/get', 'messages', 4, 'content']],
  ['Resource', 'results', ['resources/list', 'resources', 0]],
  ['Annotations', 'results', ['resources/list', 'resources', 0, 'annotations']],
  ['ResourceTemplate', 'results', ['resources/templates/list', 'resourceTemplates', 0]],
  ['TextResourceContents', 'results', ['resources/read', 'contents', 0]],
  ['BlobResourceContents', 'results', ['resources/read', 'contents', 1]],
  ['Prompt', 'results', ['prompts/list', 'prompts', 0]],
  ['PromptArgument', 'results', ['prompts/list', 'prompts', 0, 'arguments', 0]],
  ['CompleteParams', 'params', ['completion/complete']],
  ['PromptReference', 'params', ['completion/complete', 'ref']],
  ['CreateMessageParams', 'params', ['sampling/createMessage']],
  ['SamplingMessage', 'params', ['sampling/createMessage', 'messages', 0]],
  ['CreateMessageResult', 'results', ['sampling/createMessage']],
  ['Root', 'results', ['roots/list', 'roots', 0]],
  ['ElicitFormParams', 'params', ['elicitation/create']],
  ['FormSchema', 'params', ['elicitation/create', 'requestedSchema']],
  ['StringField', 'params', ['elicitation/create', 'requestedSchema', 'properties', 'mail']],
  ['NumberField', 'params', ['elicitation/create', 'requestedSchema', 'properties', 'age']],
  ['BooleanField', 'params', ['elicitation/create', 'requestedSchema', 'properties', 'agree']],
  ['EnumField', 'params', ['elicitation/create', 'requestedSchema', 'properties', 'named']],
  ['ProgressParams', 'notifications', ['notifications/progress']],
]

for (const dialect of allHandshakeDialects) {
  const { revision } = dialect
  const fitted = fitAll(dialect, samples)

  test(`a peer of ${revision} is sent what its golden file has`, () => {
    const golden = readJson<Messages>(`${revision}.json`)
    for (const part of parts) assert.equal(toJson(fitted[part]), golden[part], part)
  })

  test(`a peer of ${revision} is sent all fields that its official schema lists, and none of a later one`, () => {
    const fields = readJson<Fields>('schema-fields.json')
    for (const [type, part, path] of places) {
      const known = fields[revision][type]
      if (known === undefined) continue // the revision has no such type
      const sent = Object.keys(at(fitted[part], path))
      const ever = fields[newest][type] ?? []
      const expected = ever.filter(
        (field) => known.includes(field) || (field === '_meta' && path.length === 1),
      )
      const where = `${type} at ${path.join('.')}`
      assert.equal(sent.filter((field) => ever.includes(field)).sort(), expected, where)
    }
  })

  test(`what is fitted to ${revision} is read without complaint, and stays as it is when fitted again`, () => {
    for (const [method, result] of entries(fitted.results)) readResult(method as Method, result)
    for (const [method, params] of entries(fitted.params)) readParams(method as Method, params)
    for (const [name, params] of entries(fitted.notifications)) {
      readNotificationParams(name as NotificationMethod, params)
    }
    assert.equal(fitAll(dialect, fitted), fitted)
  })
}

test('the samples have every field of the newest revision, so that none is forgotten', () => {
  const fields = readJson<Fields>('schema-fields.json')[newest]
  const placed = new Set(places.map(([type]) => type))
  assert.equal([...placed].sort(), Object.keys(fields).sort())
  for (const [type, part, path] of places) {
    const sent = Object.keys(at(samples[part], path))
    assert.equal(sent.filter((field) => fields[type]?.includes(field)).sort(), fields[type], type)
  }
})

test('fitting leaves alone the message that it was given', () => {
  const before = JSON.stringify(samples)
  for (const dialect of allHandshakeDialects) fitAll(dialect, samples)
  assert.is(JSON.stringify(samples), before)
})

/** Everything that the revision has, fitted to it. */
function fitAll(dialect: Dialect, { results, params, notifications }: Messages): Messages {
  const asks = entries(params).filter(
    ([method]) => acceptsRequest(dialect, 'server', method) || acceptsRequest(dialect, 'client', method),
  )
  return {
    results: mapped(entries(results), (name, value) =>
      fitResult(dialect, name as Method, value as Result<Method>),
    ),
    params: mapped(asks, (name, value) => fitParams(dialect, name as Method, value as Params<Method>)),
    notifications: mapped(entries(notifications), (name, value) =>
      fitNotification(dialect, name as NotificationMethod, value as NotificationParams<NotificationMethod>),
    ),
  }
}

function mapped(list: readonly [string, object][], change: (name: string, value: object) => object) {
  return Object.fromEntries(list.map(([name, value]) => [name, change(name, value)]))
}

function entries(messages: Messages[keyof Messages]) {
  return Object.entries(messages) as [string, { readonly [field: string]: unknown }][]
}

function at(value: unknown, path: readonly (string | number)[]): object {
  const found = path.reduce((inner, key) => Reflect.get(Object(inner), key), value)
  if (isObject(found)) return found
  throw new Error(`no object at ${path.join('.')}`)
}

function readJson<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`golden/${name}`, import.meta.url), 'utf8'))
}

function toJson(value: object): unknown {
  return JSON.parse(JSON.stringify(value))
}

test.run()
