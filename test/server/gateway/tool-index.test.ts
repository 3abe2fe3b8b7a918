import * as assert from 'uvu/assert'
import { loadSearchEngine, type Searchable, ToolIndex, wordsOf } from '../../../server/gateway/tool-index.js'
import { suite } from '../../support/suite.js'

const test = suite('tool index')

const tools: readonly Searchable[] = [
  { name: 'files__read_file', description: 'Reads a text file from disk.' },
  { name: 'files__writeFile', description: 'Writes a text file to disk.' },
  {
    name: 'weather__forecast',
    title: 'Weather',
    description: 'Tells what comes.',
    inputSchema: { type: 'object', properties: { city: { type: 'string', description: 'Where: a town' } } },
  },
  { name: 'mail__send', description: 'Sends a letter to somebody, with files.' },
  { name: 'odd__schema', inputSchema: { properties: { constructor: null } } },
]

test('finds by words of name, description and parameters; the best comes first', async () => {
  const index = await ToolIndex.of(await loadSearchEngine(), tools)
  assert.is(index.search('read file', 3)[0], 'files__read_file')
  assert.is(index.search('write_file', 3)[0], 'files__writeFile')
  assert.equal(index.search('forecast for a town', 1), ['weather__forecast'])
  assert.equal(index.search('weathr', 5), ['weather__forecast'])
  assert.equal(index.search('quantum', 5), [])
  assert.equal(index.search('', 5), [])
})

test('the tool index bounds results and query length', async () => {
  const many = Array.from({ length: 1_000 }, (_, n) => ({ name: `tool_${n}`, description: 'does things' }))
  const index = await ToolIndex.of(await loadSearchEngine(), [...many, ...many])
  assert.is(index.search('things', 10).length, 10)
  assert.is(index.search('things', 5_000).length, 1_000)
  assert.ok(index.search('things '.repeat(100_000), 5).length === 5)
  // of many words twenty count, each once, and one letter begins nothing
  const before = performance.now()
  index.search('t l f m n d w a '.repeat(600), 5)
  index.search(Array.from({ length: 300 }, (_, n) => `th${n}`).join(' '), 5)
  assert.ok(performance.now() - before < 1_000)
  assert.equal(index.search('t', 5), [])
  const last = `${Array.from({ length: 20 }, (_, n) => `none${n}x`).join(' ')} things`
  assert.equal(index.search(last, 5), [])
})

test('a name counts more than a title, and a title more than what is described', async () => {
  const words = ['alpha', 'beta', 'gamma', 'delta']
  const index = await ToolIndex.of(await loadSearchEngine(), [
    { name: 'a', description: 'letter' },
    { name: 'b', title: 'letter' },
    { name: 'letter' },
    ...words.map((name) => ({ name })),
  ])
  assert.equal(index.search('letter', 5), ['letter', 'b', 'a'])
})

test('tools with all words come before those with one of them', async () => {
  const index = await ToolIndex.of(await loadSearchEngine(), [
    { name: 'pay', description: 'pay' },
    { name: 'x', description: 'to pay an invoice of somebody' },
  ])
  assert.equal(index.search('pay invoice', 5), ['x', 'pay'])
  assert.equal(index.search('inv', 5), ['x'])
})

test('only the first 4,000 characters of a text are searched, and 1,000 of a query', async () => {
  const padding = 'pad '.repeat(999)
  const at = (text: string) => ({
    inputSchema: { properties: { p: { description: text.slice(2) } } },
  })
  const index = await ToolIndex.of(await loadSearchEngine(), [
    { name: 'a', description: `${padding}inside` },
    { name: 'b', description: `${padding}pad beyond` },
    { name: 'c', title: `${padding}pad beyond` },
    { name: 'd', ...at(`${padding}pad beyond`) },
    { name: 'e', title: `${padding}here` },
  ])
  assert.equal(index.search('beyond', 5), [])
  assert.equal(index.search('insi', 5), ['a'])
  assert.equal(index.search('here', 5), ['e'])
  assert.equal(index.search(`${'zz '.repeat(334)}here`, 5), [])
  assert.equal(index.search(`${'zz '.repeat(331)}here`, 5), ['e'])
})

test('the index of very many tools is made in many turns of the event loop', async () => {
  const many = Array.from({ length: 10_000 }, (_, n) => ({ name: `tool_${n}`, description: 'does things' }))
  let turns = 0
  const count = (): void => {
    turns += 1
    turning = setImmediate(count)
  }
  let turning = setImmediate(count)
  const index = await ToolIndex.of(await loadSearchEngine(), many)
  clearImmediate(turning)
  assert.ok(turns >= 10_000 / 200, `${turns} turns`)
  assert.equal(index.search('tool 9999', 1), ['tool_9999'])
})

test('tool names are split into words', () => {
  assert.equal(wordsOf('files__readTextFile-v2'), ['files', 'read', 'text', 'file', 'v2'])
  assert.equal(wordsOf('größe straße'), ['größe', 'straße'])
})

test.run()
