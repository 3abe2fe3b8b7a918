// second tier: third party
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { defineServer, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'
import { fill, type InputRequests } from './_rounds.js'
import { parts } from './_rounds-definition.js'

const test = suite('rounds of calls: the official client', { timeout: 20_000 })
const place = '@modelcontextprotocol/client'
const program = fileURLToPath(new URL('./_rounds-program.js', import.meta.url))
const abilities = { roots: {}, sampling: {}, elicitation: { form: {}, url: {} } }

type Texts = { readonly text: string }[]

/** A client of the SDK 2 that answers what it is asked by itself. */
async function connect(t: TestContext, transport: object, mode: unknown) {
  const { Client } = await import(place)
  const client = new Client(
    { name: 'official', version: '2' },
    { capabilities: abilities, versionNegotiation: { mode } },
  )
  const asked: string[] = []
  for (const method of ['elicitation/create', 'sampling/createMessage', 'roots/list'])
    client.setRequestHandler(method, ({ params = {} }: { params?: InputRequests[string]['params'] }) => {
      asked.push(method)
      return fill({ it: { method, params } }, 1).it
    })
  await client.connect(transport)
  t.after(() => client.close())
  assert.is(client.getNegotiatedProtocolVersion(), '2026-07-28')
  return { client, asked }
}

for (const mode of ['auto', { pin: '2026-07-28' }])
  for (const kind of ['HTTP', 'standard input'])
    test(`the client answers all rounds over ${kind} (${JSON.stringify(mode)})`, async (t) => {
      const { client, asked } = await connect(t, await transportOf(t, kind), mode)
      const call = async (name: string): Promise<Texts> => (await client.callTool({ name })).content
      const [contents, isSame] = JSON.parse(String((await call('three'))[0]?.text))
      assert.equal(contents, [{ name: 'my name' }, { age: 'my age' }, { city: 'my city' }])
      assert.is(isSame, true)
      assert.equal(asked.splice(0), Array(3).fill('elicitation/create'))
      const [who, thought] = JSON.parse(String((await call('together'))[0]?.text))
      assert.equal([who.action, thought.text, asked.length], ['accept', 'thought', 4])
      const prompt: { messages: { content: { text: string } }[] } = await client.getPrompt({ name: 'three' })
      const read: { contents: Texts } = await client.readResource({ uri: 'note://three' })
      for (const text of [prompt.messages[0]?.content.text, read.contents[0]?.text])
        assert.equal(JSON.parse(String(text))[0], contents)
    })

async function transportOf(t: TestContext, kind: string): Promise<object> {
  if (kind === 'standard input') {
    const { StdioClientTransport } = await import(`${place}/stdio`)
    return new StdioClientTransport({ command: process.execPath, args: [program, 'stdio'] })
  }
  const definition = defineServer({ name: 'test', version: '1', ...parts })
  const server = await startServer(definition, { transport: serveHttp(), logger: false })
  t.after(() => server.stop())
  const { StreamableHTTPClientTransport } = await import(place)
  return new StreamableHTTPClientTransport(new URL(String(server.url)))
}

test.run()
