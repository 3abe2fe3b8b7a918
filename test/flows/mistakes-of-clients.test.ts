// second tier: time
import * as assert from 'uvu/assert'
import { startClient, startClients } from 'caduceus/client'
import { field } from 'caduceus/protocol'
import { formatTree, inspect } from 'caduceus/runtime'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { http, serveHttp, stdio } from 'caduceus/transports'
import { suite } from '../support/suite.js'
import { type Mistake, mistakesOfTransports, once } from './_mistakes.js'

const test = suite('mistakes of those who use clients', { timeout: 60_000 })

const definition = defineServer({
  name: 'files',
  version: '1',
  tools: [
    defineTool({ name: 'list_directory', input: { path: field.string().optional() }, run: () => 'a.txt' }),
  ],
})

const logger = false

const mistakes: readonly Mistake[] = [
  ...mistakesOfTransports,
  [
    'the text of a host file',
    'BAD_OPTION',
    ['mcpServers: ', 'parse it'],
    () => startClients('{"mcpServers":{}}' as never),
  ],
  [
    'an entry without command and address',
    'BAD_OPTION',
    ['mcpServers.files', 'a command, a url or a transport'],
    () => startClients({ files: { cmd: 'x' } as never }),
  ],
  [
    'a required server that is misspelt',
    'BAD_OPTION',
    ['required[0]', 'did you mean "files"?', '"fils"'],
    ({ url }) => startClients({ files: { url } }, { required: ['fils'] }),
  ],
  [
    'a tool that is misspelt',
    -32602,
    ['"lst_directory"', 'did you mean "list_directory"?'],
    ({ client }) => client.callTool('lst_directory'),
  ],
  [
    'a tool by name and arguments in one object',
    'BAD_OPTION',
    ['name: expected a non-empty string', "callTool('a_tool', { a: 1 })"],
    ({ client }) => client.callTool({ name: 'list_directory' } as never),
  ],
  [
    'arguments that are no object',
    'BAD_OPTION',
    ['args: expected an object', 'an array of 1'],
    ({ client }) => client.callTool('list_directory', ['/'] as never),
  ],
  [
    'arguments as JSON text',
    'BAD_OPTION',
    ['args: expected an object', '{\\"path\\"'],
    ({ client }) => client.callTool('list_directory', '{"path":"/"}' as never),
  ],
  [
    'a time as text',
    'BAD_OPTION',
    ['timeout: expected milliseconds above 0', '"5s"'],
    ({ client }) => client.callTool('list_directory', {}, { timeout: '5s' as never }),
  ],
  [
    'a time instead of options',
    'BAD_OPTION',
    ['options: expected an object such as { timeout: 5000 }', 'got 5000'],
    ({ client }) => client.callTool('list_directory', {}, 5_000 as never),
  ],
  [
    'a time for ready()',
    'BAD_OPTION',
    ['options: expected an object such as { timeout: 5000 }', 'got 5000'],
    ({ client }) => client.ready(5_000 as never),
  ],
  [
    'two objects for a list',
    'BAD_OPTION',
    ['options: expected one object for all', 'cursor'],
    ({ client }) => client.listTools({}, { timeout: 5_000 } as never),
  ],
  [
    'an object for the address of a resource',
    'BAD_OPTION',
    ['uri: ', "readResource('file:///a')"],
    ({ client }) => client.readResource({ uri: 'a:b' } as never),
  ],
  [
    'an object for the name of a prompt',
    'BAD_OPTION',
    ['name: ', "getPrompt('a_prompt'"],
    ({ client }) => client.getPrompt({ name: 'a' } as never),
  ],
  [
    'a level that other loggers have',
    'BAD_OPTION',
    ['level: ', 'did you mean "warning"?'],
    ({ client }) => client.setLevel('warn' as never),
  ],
  [
    'a method that is misspelt',
    -32601,
    ['tool/list', 'did you mean "tools/list"?'],
    ({ client }) => client.request('tool/list'),
  ],
  [
    'a notification without the first part of its name',
    'BAD_OPTION',
    ['method: ', 'notifications/tools/list_changed'],
    ({ client }) => client.onNotification('tools/list_changed', () => {}),
  ],
  [
    'a handler that is none',
    'BAD_OPTION',
    ['fn: expected a function'],
    ({ client }) => client.onState(undefined as never),
  ],
  [
    'a root that is a path',
    'BAD_OPTION',
    ['roots[0]: expected an object'],
    ({ url }) => startClient({ transport: http(url), roots: ['/tmp'] as never }),
  ],
  [
    'a handle where a tree is wanted',
    'BAD_OPTION',
    ['formatTree: expected what inspect() answers'],
    ({ client }) => formatTree(client as never),
  ],
  [
    'nothing to inspect',
    'BAD_OPTION',
    ['inspect: expected a process, or a supervisor, server, client or pool'],
    () => inspect(undefined as never),
  ],
  [
    'a client that is closed',
    'CLOSED',
    ['tools/call: client mine is closed'],
    async ({ url }) => {
      const client = startClient({ transport: http(url), name: 'mine', logger })
      await client.close()
      await client.callTool('list_directory')
    },
  ],
  [
    'a name that no client has',
    'NOT_FOUND',
    ['clients: ', 'did you mean "files"?', '"fils"'],
    async ({ url }) => {
      await using clients = await startClients({ files: { url } }, { logger })
      await clients.get('fils').listTools()
    },
  ],
]

test('a client mistake is reported with kind, place and remedy', async (t) => {
  const server = await startServer(definition, { transport: serveHttp({ port: 0 }), logger })
  t.after(() => server.stop())
  const url = String(server.url)
  const client = startClient({ transport: http(url), logger })
  t.after(() => client.close())
  await client.listTools()
  const asked = client.inspect().link
  const outcomes = mistakes.map(async ([what, code, says, make]) => {
    const error = await errorOf(() => make({ url, client }))
    assert.is(error?.code, code, `${what}: ${error?.message ?? 'nothing was wrong'}`)
    for (const part of says)
      assert.ok(error?.message.includes(part), `${what}: ${error?.message} lacks ${part}`)
  })
  await Promise.all(outcomes)
  assert.ok(asked !== undefined && mistakes.length >= 20)
})

test('a whole host configuration is read, with unknown parts', async (t) => {
  const server = await startServer(definition, { transport: serveHttp({ port: 0 }), logger })
  t.after(() => server.stop())
  const url = String(server.url)
  for (const configuration of [
    { mcpServers: { files: { url } }, theme: 'dark' },
    { inputs: [], servers: { files: { type: 'http', url } } },
    { files: { url } },
    { servers: { url } },
  ]) {
    await using clients = await startClients(configuration as never, { logger, required: 'all' })
    const [name = ''] = clients.names
    assert.is((await clients.get(name).callTool('list_directory')).text, 'a.txt')
  }
})

test('a server named like a field of host files is a server', async () => {
  for (const name of ['mcpServers', 'servers']) {
    const { message } =
      (await errorOf(() => startClients({ [name]: { cmd: 'x' }, other: { url: 7 } } as never))) ??
      new Error('nothing was wrong')
    assert.match(message, `mcpServers.cmd: expected an object, got "x"`)
    const wrong =
      (await errorOf(() => startClients({ [name]: { command: 7 } } as never))) ??
      new Error('nothing was wrong')
    assert.match(wrong.message, `mcpServers.${name}.command: expected`)
  }
})

test('the error of a missing command names PATH once', async () => {
  const transport = stdio({ command: 'no-such-command', env: { PATH: '/here/and/there' } })
  const error = await errorOf(() => once(transport))
  const { inspect: show } = await import('node:util')
  assert.is(show(error, { depth: 10 }).split('/here/and/there').length - 1, 1)
})

async function errorOf(make: () => unknown): Promise<(Error & { readonly code?: unknown }) | undefined> {
  try {
    await make()
    return undefined
  } catch (error) {
    return error as Error
  }
}

test.run()
