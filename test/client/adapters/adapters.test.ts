import { DynamicStructuredTool } from '@langchain/core/tools'
import { generateText, stepCountIs } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import type OpenAI from 'openai'
import * as assert from 'uvu/assert'
import { type ClientError, startClient, toAiTools, toLangChainTools, toOpenAiTools } from 'caduceus/client'
import { field } from 'caduceus/protocol'
import { defineServer, defineTool, ToolError, toolResult } from 'caduceus/server'
import { connect } from 'caduceus/testing'
import { http } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('tools for models', { timeout: 20_000 })
const pixel = 'iVBORw0KGgo='
let hanging: (signal: AbortSignal) => void = () => {}

function definition(name: string) {
  return defineServer({
    name,
    version: '1',
    tools: {
      divide: defineTool({
        description: 'Divides.',
        input: { a: field.number(), b: field.number() },
        run({ a, b }) {
          if (b === 0) throw new ToolError('Cannot divide by zero.')
          return String(a / b)
        },
      }),
      draw: defineTool({
        run: () => toolResult().text('a dot').image(Buffer.from(pixel, 'base64'), 'image/png'),
      }),
      hang: defineTool({
        run(_args, ctx) {
          hanging(ctx.signal)
          return new Promise<string>((_, reject) => ctx.signal.addEventListener('abort', reject))
        },
      }),
      'odd.name': defineTool({ name: 'odd.name', run: () => 'odd' }),
    },
  })
}

async function servers(t: TestContext) {
  const [one, two] = [await connect(definition('one')), await connect(definition('two'))]
  t.after(async () => {
    await one.close()
    await two.close()
  })
  return { one: one.client, two: two.client }
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}

/** A model that calls one tool, and then repeats what it was told. */
function modelThatCalls(toolName: string, input: object) {
  return new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      const last = prompt.at(-1)
      if (last?.role !== 'tool')
        return {
          content: [{ type: 'tool-call', toolCallId: 'c1', toolName, input: JSON.stringify(input) }],
          finishReason: { unified: 'tool-calls', raw: undefined },
          usage,
          warnings: [],
        }
      const [part] = last.content
      const text = JSON.stringify(part?.type === 'tool-result' ? part.output : part)
      return {
        content: [{ type: 'text', text }],
        finishReason: { unified: 'stop', raw: undefined },
        usage,
        warnings: [],
      }
    },
  })
}

async function told(
  tools: Awaited<ReturnType<typeof toAiTools>>,
  name: string,
  input: object,
  signal?: AbortSignal,
) {
  const { text } = await generateText({
    model: modelThatCalls(name, input),
    prompt: 'go',
    tools,
    stopWhen: stepCountIs(3),
    ...(signal !== undefined && { abortSignal: signal }),
  })
  return JSON.parse(text) as { type: string; value: unknown }
}

test('the Vercel AI SDK lists the tools, calls them and gets their results', async (t) => {
  const tools = await toAiTools(await servers(t))
  assert.equal(Object.keys(tools), [
    ...['one__divide', 'one__draw', 'one__hang', 'one__odd_name'],
    ...['two__divide', 'two__draw', 'two__hang', 'two__odd_name'],
  ])
  const model = modelThatCalls('one__divide', { a: 6, b: 3 })
  const { text } = await generateText({ model, prompt: 'go', tools, stopWhen: stepCountIs(3) })
  assert.equal(JSON.parse(text), { type: 'text', value: '2' })
  const shown = model.doGenerateCalls[0]?.tools?.[0]
  assert.is(shown?.type, 'function')
  if (shown?.type === 'function') {
    assert.is(shown.description, 'Divides.')
    assert.equal(Object.keys(shown.inputSchema.properties ?? {}), ['a', 'b'])
  }
  assert.equal(await told(tools, 'two__odd_name', {}), { type: 'text', value: 'odd' })
  assert.match(JSON.stringify(await told(tools, 'one__divide', { a: 1, b: 0 })), /Cannot divide by zero/)
  const drawn = await told(tools, 'one__draw', {})
  assert.is(drawn.type, 'content')
  assert.match(JSON.stringify(drawn.value), new RegExp(pixel))
})

test('an unreachable server is reported and does not affect the others', async (t) => {
  const { one } = await servers(t)
  const away = startClient({ name: 'away', transport: http('http://127.0.0.1:9/mcp'), logger: false })
  t.after(() => away.close())
  const missing: [string | undefined, unknown][] = []
  const tools = await toAiTools(
    { one, away },
    { onMissing: (server, error) => missing.push([server, error]) },
  )
  assert.is(Object.keys(tools).length, 4)
  assert.equal(
    missing.map(([server, error]) => [server, (error as ClientError).code]),
    [['away', 'NOT_READY']],
  )
})

test('aborting the SDK request aborts the call', async (t) => {
  let begin: () => void = () => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const given = new Promise<void>((resolve) => {
    hanging = (signal) => {
      signal.addEventListener('abort', () => resolve(), { once: true })
      begin()
    }
  })
  const { one } = await servers(t)
  const tools = await toAiTools(one, { filter: ({ name }) => name === 'hang' })
  assert.equal(Object.keys(tools), ['hang'])
  const gone = new AbortController()
  const running = told(tools, 'hang', {}, gone.signal).catch(() => undefined)
  await begun
  gone.abort()
  // the handler of the server hears of it
  await given
  await running
})

test('LangChain calls them as tools of its own', async (t) => {
  const { one } = await servers(t)
  const tools = (await toLangChainTools(one)).map((fields) => new DynamicStructuredTool(fields))
  const [divide] = tools
  const message = await divide?.invoke({
    name: 'divide',
    args: { a: 6, b: 3 },
    id: 'c1',
    type: 'tool_call',
  } as never)
  assert.is((message as unknown as { content: string }).content, '2')
  assert.is((message as unknown as { tool_call_id: string }).tool_call_id, 'c1')
  const error = await divide?.invoke({ a: 1, b: 0 } as never).catch((reason: Error) => reason.message)
  assert.is(error, 'Cannot divide by zero.')
})

test('OpenAI function calls are answered with the message of the same call id', async (t) => {
  const functions = await toOpenAiTools(await servers(t))
  const tools: OpenAI.Chat.Completions.ChatCompletionTool[] = [...functions.tools]
  assert.is(tools.length, 8)
  const call = (name: string, args: string) =>
    functions.call({ id: 'c1', type: 'function', function: { name, arguments: args } })
  assert.equal(await call('one__divide', '{"a":6,"b":3}'), { role: 'tool', tool_call_id: 'c1', content: '2' })
  assert.is((await call('one__divide', '{"a":1,"b":0}')).content, 'Error: Cannot divide by zero.')
  assert.is((await call('one__divide', 'no json')).content, 'Error: the arguments are no JSON')
  assert.match((await call('nope', '{}')).content, /^Error: there is no function nope: one__divide/)
  const answer = await functions.call({ call_id: 'r1', name: 'two__divide', arguments: '{"a":1,"b":2}' })
  assert.equal(answer, { type: 'function_call_output', call_id: 'r1', output: '0.5' })
  const message: OpenAI.Chat.Completions.ChatCompletionToolMessageParam = await call('one__odd_name', '')
  assert.is(message.content, 'odd')
})

test('a wrong source of tools is refused with what was expected', async () => {
  const error = await toAiTools({ files: 5 } as never).catch((reason) => reason)
  assert.match(error.message, /^source: expected a client, what startClients returns, or clients by name/)
})

test.run()
