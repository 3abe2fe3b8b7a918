import * as assert from 'uvu/assert'
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineServer,
  defineTool,
  nameFrom,
  ServerError,
} from 'caduceus/server'
import { suite } from '../../support/suite.js'
import * as module from './_named-tools.js'
import { startParts } from '../_servers.js'

const test = suite('server/definitions/named')

const names: [string, string][] = [
  ['calculator', 'calculator'],
  ['addNumbers', 'add_numbers'],
  ['SystemInfo', 'system_info'],
  ['readURL', 'read_url'],
  ['HTTPServer', 'http_server'],
  ['top10Items', 'top10_items'],
  ['already_snake', 'already_snake'],
]

for (const [key, name] of names) {
  test(`${key} is called ${name}`, () => {
    assert.is(nameFrom(key), name)
  })
}

test('tools of a module are called by their exports, unless they have a name', async (t) => {
  const { client } = await startParts(t, { tools: module })
  const { result } = await client.ask('tools/list')
  assert.equal(result?.tools, [
    {
      name: 'add_numbers',
      description: 'Add two numbers',
      inputSchema: { type: 'object', additionalProperties: false },
    },
    { name: 'own-name', inputSchema: { type: 'object', additionalProperties: false } },
  ])
  assert.is(await client.text('add_numbers'), '3')
})

test('every kind of component may be called by its key', () => {
  const read = () => ''
  const made = defineServer({
    name: 's',
    version: '1',
    resources: { appConfig: defineResource({ uri: 'x:c', read }) },
    resourceTemplates: { oneFile: defineResourceTemplate({ uriTemplate: 'x:{f}', read }) },
    prompts: { codeReview: definePrompt({ get: read }) },
  })
  assert.equal(
    [made.resources[0]?.name, made.resourceTemplates[0]?.name, made.prompts[0]?.name],
    ['app_config', 'one_file', 'code_review'],
  )
  assert.ok(Object.isFrozen(made.prompts[0]))
})

test('a definition may have different names in different servers', () => {
  const tool = defineTool({ run: () => '' })
  const [one, other] = ['first', 'second'].map((key) =>
    defineServer({ name: 's', version: '1', tools: { [key]: tool } }),
  )
  assert.equal([one?.tools[0]?.name, other?.tools[0]?.name, tool.name], ['first', 'second', undefined])
})

test('a component added at run time needs its own name', async (t) => {
  const { server } = await startParts(t, { prompts: [], resources: [] })
  const read = () => ''
  const adding = [
    () => server.addTool(defineTool({ run: read }) as never),
    () => server.addPrompt(definePrompt({ get: read }) as never),
    () => server.addResource(defineResource({ uri: 'x:r', read }) as never),
  ]
  for (const add of adding) {
    const error = await add().catch((reason: ServerError) => reason)
    assert.ok(error instanceof ServerError && error.code === 'BAD_DEFINITION', String(error))
  }
})

const tool = defineTool({ run: () => '' })
const bad: [object, string, RegExp][] = [
  [{ tools: [tool] }, 'tools[0]', /^server "s": tools\[0\]: expected a tool with a name/],
  [{ tools: { 'a b': tool } }, 'name', /^tool: name: expected 1 to 128 letters/],
  [
    { tools: { aB: tool, a_b: tool } },
    'tools.a_b',
    /^server "s": tools\.a_b: expected a name that no other tool has/,
  ],
  [
    { tools: { helper: () => '' } },
    'tools.helper',
    /^server "s": tools\.helper: expected what defineTool returns/,
  ],
  [
    { tools: Promise.resolve([]) },
    'tools',
    /^server "s": tools: expected .*got a promise, which wants an await/,
  ],
  [{ tools: 7 }, 'tools', /^server "s": tools: expected an array of tools, or an object of them/],
]

for (const [parts, field, message] of bad) {
  test(`components without a usable name are refused: ${message.source}`, () => {
    assert.throws(
      () => defineServer({ name: 's', version: '1', ...parts } as never),
      ({ code, data, message: text }: ServerError) =>
        code === 'BAD_DEFINITION' && (data as { field: string }).field === field && message.test(text),
    )
  })
}

test.run()
