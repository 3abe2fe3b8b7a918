import * as assert from 'uvu/assert'
import {
  defineMethod,
  definePrompt,
  defineResource,
  defineTool,
  type ServerError,
  type ToolContext,
  ToolError,
} from 'caduceus/server'
import { suite } from '../../support/suite.js'
import type { Wire } from '../_client.js'
import { form, startAsking, textOf } from './_asking.js'
import { startPort } from '../exchanges/_exchanges.js'
import { converse, type Send } from '../exchanges/_rounds.js'
import { startParts } from '../_servers.js'

const test = suite('server/context/question-keys')

const said = { messages: [], maxTokens: 5 }
const other = { ...form, message: 'Somebody else?' }

/** What each of several questions under one key comes to. */
async function askAll(ctx: ToolContext): Promise<unknown> {
  const why = ({ code, message, data }: ServerError) => [code, (data as { field: string }).field, message]
  const first = await ctx.elicit('k', form)
  return [
    first,
    await ctx.elicit('k', form),
    await ctx.sample('k', said).catch(why),
    await ctx.roots('k').catch(why),
    await ctx.elicit('k', other).catch(why),
  ]
}

const answers = () => ({ k: { action: 'accept', content: { name: 'Ada' } } })

function check(text: string): void {
  const [first, same, sampled, roots, asked] = JSON.parse(text)
  assert.is(first.action, 'accept')
  assert.equal(same, first)
  const end = 'of this call: give each question a key of its own'
  assert.equal(sampled, ['BAD_OPTION', 'key', `sample: key: "k" belongs to elicit() ${end}`])
  assert.equal(roots, ['BAD_OPTION', 'key', `roots: key: "k" belongs to elicit() ${end}`])
  assert.equal(asked, ['BAD_OPTION', 'key', `elicit: key: "k" belongs to another question ${end}`])
}

test('a key belongs to one question in a session', async (t) => {
  const { call, answer } = await startAsking(t, askAll)
  const stream = await call()
  await answer(await stream.next(), { action: 'accept', content: { name: 'Ada' } })
  check(String(await textOf(stream)))
})

for (const parking of [true, false]) {
  test(`a key is one question in rounds, ${parking ? 'parked' : 'also after the handler ran again'}`, async (t) => {
    const tool = defineTool({ name: 'x', run: async (_, ctx) => JSON.stringify(await askAll(ctx)) })
    const { send } = await startPort(t, { tools: [tool] }, { limits: { parked: parking ? 1_000 : 0 } })
    const sender: Send = async (method, params, how) => {
      const { wire, told } = send(method, params, how)
      return [...told, (await wire) as Wire]
    }
    const { text, rounds } = await converse(sender, 'tools/call', { name: 'x', arguments: {} }, { answers })
    assert.is(rounds.length, 1)
    check(text)
  })
}

test('a loop that asks again under one key ends, and is told of another key', async (t) => {
  const { call, answer } = await startAsking(t, async (ctx) => {
    const why = ({ code, message, data }: ServerError) => [code, (data as { field: string }).field, message]
    const again = async (ask: () => Promise<unknown>, rounds: number) => {
      for (let n = 0; n < rounds; n += 1) await ask()
      return 'asked'
    }
    const guess = () => ctx.elicit('guess', form)
    return [
      await again(guess, 101).catch(why),
      await again(guess, 1).catch(why),
      // another key is another question
      await again(() => ctx.elicit('guess-2', form), 2).catch(why),
    ]
  })
  const stream = await call()
  await answer(await stream.next(), { action: 'accept', content: { name: 'Ada' } })
  await answer(await stream.next(), { action: 'accept', content: { name: 'Bea' } })
  const [first, second, other] = JSON.parse(String(await textOf(stream)))
  assert.is(first, 'asked')
  const problem =
    'elicit: key: "guess" was asked 100 times more in this call, and has one answer: to ask again, take another key: "guess-2"'
  assert.equal(second, ['BAD_OPTION', 'key', problem])
  assert.is(other, 'asked')
})

for (const way of ['sample', 'roots'] as const)
  test(`a loop of ctx.${way} under one key holds up nobody`, async (t) => {
    const { call, answer } = await startAsking(
      t,
      async (ctx) => {
        const ask = () => (way === 'sample' ? ctx.sample('k', said) : ctx.roots('k'))
        await ask()
        let hasRun = false
        setImmediate(() => {
          hasRun = true
        })
        for (let n = 0; n < 150; n += 1) await ask()
        return hasRun ? 'asked' : 'nobody else ran'
      },
      { exposeErrors: true },
    )
    const stream = await call()
    const content = { type: 'text', text: 'Hi' }
    const sampled = { role: 'assistant', content, model: 'm' }
    await answer(await stream.next(), way === 'sample' ? sampled : { roots: [] })
    const told = way === 'sample' ? 'sample: key: "k" was asked 100 times more' : 'asked'
    assert.match(String(await textOf(stream)), told)
  })

test('a question without a key, or with an unknown field, says what was expected', async (t) => {
  const { client } = await startAsking(t, async (ctx) => [
    await ctx.elicit(form as never, {} as never).catch(({ message }: Error) => message),
    await ctx.elicit('k', undefined as never).catch(({ message }: Error) => message),
    await ctx.elicit('k', { message: 'a', fields: {} } as never).catch(({ message }: Error) => message),
    await ctx.sample('', said).catch(({ message }: Error) => message),
  ])
  const [key, question, field, empty] = JSON.parse(
    String((await client.call('ask')).result?.content?.[0]?.text),
  )
  assert.match(
    key,
    /^elicit: key: expected a non-empty string first, as in ctx\.elicit\('name', \{ message, form \}\), got an/,
  )
  assert.match(
    question,
    /^elicit: question: expected an object behind the key, as in ctx\.elicit\(.*\), got undefined$/,
  )
  assert.match(field, /^elicit: fields: expected a field among .* \(did you mean "form"\?\)/)
  assert.match(empty, /^sample: key: expected a non-empty string first/)
})

test('the text of a ToolError reaches the client, from every kind of handler', async (t) => {
  const fail = () => {
    throw new ToolError('The archive is closed today.')
  }
  const later = async () => fail()
  const { client } = await startParts(t, {
    tools: [],
    prompts: [definePrompt({ name: 'p', arguments: [{ name: 'a' }], get: fail, complete: { a: fail } })],
    resources: [defineResource({ uri: 'a:b', name: 'r', read: later })],
    methods: { 'x/y': defineMethod({ run: later }) },
  })
  const requests = [
    ['prompts/get', { name: 'p' }],
    ['resources/read', { uri: 'a:b' }],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } }],
    ['x/y', {}],
  ] as const
  for (const [method, params] of requests) {
    const { error } = await client.ask(method, params)
    assert.equal(
      error,
      { code: -32603, message: 'The archive is closed today.', data: { code: 'TOOL_FAILED' } },
      method,
    )
  }
})

test.run()
