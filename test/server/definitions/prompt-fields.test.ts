import * as assert from 'uvu/assert'
import { z } from 'zod'
import { field } from 'caduceus/protocol'
import { definePrompt, promptResult, type ServerError } from 'caduceus/server'
import { suite } from '../../support/suite.js'
import { startParts } from '../_servers.js'

const test = suite('server/definitions/prompt-fields')

const analyzer = definePrompt({
  name: 'document_analyzer',
  description: 'Analyze and summarize documents',
  arguments: {
    document: field.string({ description: 'The document text to analyze' }),
    language: field.string({ description: "Document language (e.g., 'en', 'es', 'fr')" }),
    analysis_type: field
      .enum(['summary', 'sentiment', 'keywords'], { description: 'Type of analysis to perform' })
      .optional(),
    max_length: field.integer({ default: 500, description: 'Maximum length of the summary in characters' }),
  },
  get: ({ document, language, analysis_type: type = 'summary', max_length: max }) =>
    promptResult()
      .system(`You are an expert document analyzer specializing in ${type} analysis.`)
      .user(`${language}, ${max + 0} characters: ${document}`),
})

test('the arguments are listed as the components guide has them', async (t) => {
  const { client } = await startParts(t, { prompts: [analyzer] })
  const { result } = await client.ask('prompts/list')
  assert.equal(result?.prompts, [
    {
      name: 'document_analyzer',
      description: 'Analyze and summarize documents',
      arguments: [
        { name: 'document', description: 'The document text to analyze', required: true },
        { name: 'language', description: "Document language (e.g., 'en', 'es', 'fr')", required: true },
        { name: 'analysis_type', description: 'Type of analysis to perform', required: false },
        { name: 'max_length', description: 'Maximum length of the summary in characters', required: false },
      ],
    },
  ])
})

test('prompt arguments are parsed to their types, and defaults fill the gaps', async (t) => {
  const { client } = await startParts(t, { prompts: [analyzer] })
  const get = async (args: object) => {
    const { result } = await client.ask('prompts/get', { name: 'document_analyzer', arguments: args })
    return ((result?.messages ?? []) as { content: { text: string } }[]).map(({ content }) => content.text)
  }
  assert.equal(await get({ document: '7', language: 'en' }), [
    'You are an expert document analyzer specializing in summary analysis.',
    'en, 500 characters: 7',
  ])
  const [, user] = await get({ document: 'x', language: 'es', analysis_type: 'keywords', max_length: '20' })
  assert.is(user, 'es, 20 characters: x')
})

test('bad arguments are -32602, each by its name, and nothing runs', async (t) => {
  const { client } = await startParts(t, { prompts: [analyzer] })
  const args = { document: 'x', analysis_type: 'poem', max_length: 'many' }
  const { error } = await client.ask('prompts/get', { name: 'document_analyzer', arguments: args })
  assert.is(error?.code, -32602)
  assert.match(
    error?.message ?? '',
    /^The arguments of prompt document_analyzer are not valid: language: is required; /,
  )
  assert.match(
    error?.message ?? '',
    /analysis_type: expected one of "summary", "sentiment", "keywords"; max_length: /,
  )
  const issues = error?.data?.issues as { path: string }[]
  assert.equal(
    issues.map(({ path }) => path),
    ['language', 'analysis_type', 'max_length'],
  )
})

test('library schemas read prompt arguments as text, else as JSON', async (t) => {
  const prompt = definePrompt({
    name: 'mixed',
    arguments: {
      id: z.string().describe('As it is'),
      size: z.number(),
      kind: { enum: ['1', 'a'], title: 'Kind' },
      tags: field.list(field.string()).optional(),
      day: field.date().optional(),
    },
    get: ({ id, size, kind, tags = [], day }) => JSON.stringify([id, size, kind, tags, day]),
  })
  assert.equal(prompt.arguments[0], { name: 'id', description: 'As it is', required: true })
  assert.equal(prompt.arguments[2], { name: 'kind', title: 'Kind', required: true })
  const { client } = await startParts(t, { prompts: [prompt] })
  const args = { id: '007', size: '1.5', kind: '1', tags: '["x"]', day: '2024-01-15' }
  const { result } = await client.ask('prompts/get', { name: 'mixed', arguments: args })
  const [message] = (result?.messages ?? []) as { content: { text: string } }[]
  assert.equal(JSON.parse(message?.content.text ?? ''), ['007', 1.5, '1', ['x'], '2024-01-15'])
})

test('a prompt argument that is no field is refused at definition', () => {
  const broken: [unknown, RegExp][] = [
    [{ a: field.enum([]) }, /^prompt "p": arguments\.a: /],
    [{ a: 7 }, /^prompt "p": arguments\.a: /],
    ['a', /^prompt "p": arguments: expected fields by their names, or an array, got "a"$/],
  ]
  for (const [args, message] of broken)
    assert.throws(
      () => definePrompt({ name: 'p', arguments: args as never, get: () => '' }),
      (error: ServerError) => error.code === 'BAD_DEFINITION' && message.test(error.message),
    )
})

test.run()
