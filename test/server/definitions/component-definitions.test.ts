import * as assert from 'uvu/assert'
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineServer,
  ServerError,
} from 'caduceus/server'
import { suite } from '../../support/suite.js'

const test = suite('server component definitions')
const run = (): string => 'done'
const resource = { uri: 'x:a', name: 'a', read: run }
const template = { uriTemplate: 'x:{a}', name: 'a', read: run }
const prompt = { name: 'p', get: run }
const server = { name: 's', version: '1' }

type Define = (options: never) => unknown
const bad: [Define, unknown, string, RegExp][] = [
  [
    defineResource,
    null,
    'options',
    /^resource: options: expected an object, as in defineResource\(\{ uri, read \}\), got null$/,
  ],
  [
    defineResource,
    { ...resource, uri: 'no uri' },
    'uri',
    /^resource: uri: expected an absolute uri, without variables \(.*\), got "no uri"$/,
  ],
  [
    defineResource,
    { ...resource, uri: 'n://{id}' },
    'uri',
    /^resource: uri: expected an absolute uri, .*defineResourceTemplate\), got "n:\/\/\{id\}"$/,
  ],
  [defineResource, { ...resource, name: '' }, 'name', /^resource "x:a": name: expected a non-empty string/],
  [defineResource, { ...resource, title: 1 }, 'title', /^resource "x:a": title: expected a string, got 1$/],
  [
    defineResource,
    { ...resource, mimetype: 'a' },
    'mimetype',
    /^resource "x:a": mimetype: expected a field among uri/,
  ],
  [
    defineResource,
    { ...resource, size: 0.5 },
    'size',
    /^resource "x:a": size: expected a whole number of bytes/,
  ],
  [
    defineResource,
    { ...resource, timeout: 0 },
    'timeout',
    /^resource "x:a": timeout: expected milliseconds above 0/,
  ],
  [
    defineResource,
    { ...resource, read: 'x' },
    'read',
    /^resource "x:a": read: expected a function, got "x"$/,
  ],
  [
    defineResourceTemplate,
    { ...template, uriTemplate: 1 },
    'uriTemplate',
    /^resource template: uriTemplate: expected a string/,
  ],
  [
    defineResourceTemplate,
    { ...template, uriTemplate: 'x:{a}/{a}' },
    'uriTemplate',
    /each variable once, and a is there twice/,
  ],
  [
    defineResourceTemplate,
    { ...template, complete: { b: run } },
    'complete.b',
    /complete\.b: expected a name among a/,
  ],
  [
    defineResourceTemplate,
    { ...template, complete: { a: [] } },
    'complete.a',
    /complete\.a: expected a function/,
  ],
  [
    defineResourceTemplate,
    { ...template, uri: 'x:' },
    'uri',
    /^resource template "x:\{a\}": uri: expected a field among/,
  ],
  [definePrompt, { name: '', get: run }, 'name', /^prompt: name: expected a non-empty string, got ""$/],
  [
    definePrompt,
    { ...prompt, get: undefined },
    'get',
    /^prompt "p": get: expected a function, got undefined$/,
  ],
  [definePrompt, { ...prompt, arguments: 'a' }, 'arguments', /^prompt "p": arguments: expected fields by/],
  [
    definePrompt,
    { ...prompt, arguments: [{}] },
    'arguments[0].name',
    /arguments\[0\]\.name: expected a non-empty string/,
  ],
  [
    definePrompt,
    { ...prompt, arguments: [{ name: 'a' }, { name: 'a' }] },
    'arguments[1].name',
    /that no other argument has/,
  ],
  [
    definePrompt,
    { ...prompt, arguments: [{ name: 'a', required: 1 }] },
    'arguments[0].required',
    /expected true or false, got 1$/,
  ],
  [
    definePrompt,
    { ...prompt, arguments: [{ name: 'a', type: 'x' }] },
    'type',
    /arguments\[0\]: type: expected a field among name/,
  ],
  [definePrompt, { ...prompt, complete: { z: run } }, 'complete.z', /complete\.z: expected a name among/],
  [
    defineServer,
    { ...server, resources: [resource] },
    'resources[0]',
    /resources\[0\]: expected what defineResource returns/,
  ],
  [
    defineServer,
    { ...server, resources: [defineResource(resource), defineResource(resource)] },
    'resources[1]',
    /resources\[1\]: expected a uri that no other resource has, got "x:a"$/,
  ],
  [
    defineServer,
    { ...server, resourceTemplates: [defineResource(resource)] },
    'resourceTemplates[0]',
    /expected what defineResourceTemplate returns/,
  ],
  [
    defineServer,
    { ...server, prompts: [prompt] },
    'prompts[0]',
    /prompts\[0\]: expected what definePrompt returns/,
  ],
  [
    defineServer,
    { ...server, logging: 'yes' },
    'logging',
    /^server "s": logging: expected true or false, got "yes"$/,
  ],
]

for (const [define, options, field, message] of bad) {
  test(`${define.name} refuses a bad ${field}: ${message.source}`, () => {
    assert.throws(
      () => define(options as never),
      (error: ServerError) =>
        error instanceof ServerError &&
        error.code === 'BAD_DEFINITION' &&
        message.test(error.message) &&
        (error.data as { field: string }).field === field,
    )
  })
}

test('components are frozen data, and what they were made from may change', () => {
  const args = [{ name: 'a', required: true as boolean }]
  const made = definePrompt({ ...prompt, arguments: args })
  args.push({ name: 'b', required: false })
  Object.assign(args[0] as object, { required: false })
  assert.equal(made.arguments, [{ name: 'a', required: true }])
  const frozen = [
    made,
    made.arguments,
    made.arguments[0],
    defineResource(resource),
    defineResourceTemplate(template),
  ]
  assert.ok(frozen.every(Object.isFrozen))
})

test('methods of a definition object keep their this', () => {
  const own = defineResource({
    uri: 'x:own',
    name: 'own',
    read() {
      return (this as unknown as { uri: string }).uri
    },
  })
  assert.is(own.read(undefined as never), 'x:own')
})

test.run()
