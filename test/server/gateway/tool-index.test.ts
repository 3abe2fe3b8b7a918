import { createHash } from 'node:crypto'
import * as assert from 'uvu/assert'
import { loadSearchEngine, type Searchable, ToolIndex, wordsOf } from '../../../server/gateway/tool-index.js'
import { suite } from '../../support/suite.js'

const test = suite('tool index')
const atOnce = async () => {}

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
  const index = await ToolIndex.of(await loadSearchEngine(), tools, atOnce)
  assert.is((await index.search('read file', 3, atOnce))[0], 'files__read_file')
  assert.is((await index.search('write_file', 3, atOnce))[0], 'files__writeFile')
  assert.equal(await index.search('forecast for a town', 1, atOnce), ['weather__forecast'])
  assert.equal(await index.search('weathr', 5, atOnce), ['weather__forecast'])
  assert.equal(await index.search('quantum', 5, atOnce), [])
  assert.equal(await index.search('', 5, atOnce), [])
})

test('the tool index bounds results and query length', async () => {
  const many = Array.from({ length: 1_000 }, (_, n) => ({ name: `tool_${n}`, description: 'does things' }))
  const index = await ToolIndex.of(await loadSearchEngine(), [...many, ...many], atOnce)
  assert.is((await index.search('things', 10, atOnce)).length, 10)
  assert.is((await index.search('things', 5_000, atOnce)).length, 1_000)
  assert.ok((await index.search('things '.repeat(100_000), 5, atOnce)).length === 5)
  // of many words twenty count, each once, and one letter begins nothing
  let turns = 0
  const count = async (): Promise<void> => {
    turns += 1
  }
  await index.search('t l f m n d w a '.repeat(600), 5, count)
  assert.is(turns, 8)
  await index.search(Array.from({ length: 300 }, (_, n) => `th${n}`).join(' '), 5, count)
  assert.is(turns, 8 + 20)
  assert.equal(await index.search('t', 5, atOnce), [])
  const last = `${Array.from({ length: 20 }, (_, n) => `none${n}x`).join(' ')} things`
  assert.equal(await index.search(last, 5, atOnce), [])
})

test('a name counts more than a title, and a title more than what is described', async () => {
  const words = ['alpha', 'beta', 'gamma', 'delta']
  const index = await ToolIndex.of(
    await loadSearchEngine(),
    [
      { name: 'a', description: 'letter' },
      { name: 'b', title: 'letter' },
      { name: 'letter' },
      ...words.map((name) => ({ name })),
    ],
    atOnce,
  )
  assert.equal(await index.search('letter', 5, atOnce), ['letter', 'b', 'a'])
})

test('tools with all words come before those with one of them', async () => {
  const index = await ToolIndex.of(
    await loadSearchEngine(),
    [
      { name: 'pay', description: 'pay' },
      { name: 'x', description: 'to pay an invoice of somebody' },
    ],
    atOnce,
  )
  assert.equal(await index.search('pay invoice', 5, atOnce), ['x', 'pay'])
  assert.equal(await index.search('inv', 5, atOnce), ['x'])
})

test('only the first 4,000 characters of a text are searched, and 1,000 of a query', async () => {
  const padding = 'pad '.repeat(999)
  const at = (text: string) => ({
    inputSchema: { properties: { p: { description: text.slice(2) } } },
  })
  const index = await ToolIndex.of(
    await loadSearchEngine(),
    [
      { name: 'a', description: `${padding}inside` },
      { name: 'b', description: `${padding}pad beyond` },
      { name: 'c', title: `${padding}pad beyond` },
      { name: 'd', ...at(`${padding}pad beyond`) },
      { name: 'e', title: `${padding}here` },
    ],
    atOnce,
  )
  assert.equal(await index.search('beyond', 5, atOnce), [])
  assert.equal(await index.search('insi', 5, atOnce), ['a'])
  assert.equal(await index.search('here', 5, atOnce), ['e'])
  assert.equal(await index.search(`${'zz '.repeat(334)}here`, 5, atOnce), [])
  assert.equal(await index.search(`${'zz '.repeat(331)}here`, 5, atOnce), ['e'])
})

test('an index is made in turns, by what its words cost and not by tools', async () => {
  const turnsOf = async (count: number, description: (n: number) => string): Promise<number> => {
    const tools = Array.from({ length: count }, (_, n) => ({
      name: `tool_${n}`,
      description: description(n),
    }))
    let turns = 0
    const index = await ToolIndex.of(await loadSearchEngine(), tools, async () => {
      turns += 1
    })
    assert.equal(await index.search(`tool ${count - 1}`, 1, atOnce), [`tool_${count - 1}`])
    return turns
  }
  const many = await turnsOf(10_000, () => 'does things')
  assert.ok(many >= 50, `${many} turns`)
  const words = (n: number): string => Array.from({ length: 600 }, (_, word) => `w${n}x${word}`).join(' ')
  const long = await turnsOf(50, words)
  assert.ok(long >= 20, `${long} turns`)
})

test('of a tool 200 different words are searched, and of a server 20,000, names first', async () => {
  const wordOf = (n: number, at: number): string =>
    createHash('sha256').update(`${n} ${at}`).digest('hex').slice(0, 12)
  const words = (n: number): string => Array.from({ length: 250 }, (_, at) => wordOf(n, at)).join(' ')
  const loud = Array.from({ length: 110 }, (_, n) => ({
    name: `loud${n}`,
    server: 'loud',
    description: words(n),
  }))
  const quiet = { name: 'quiet', server: 'quiet', description: 'whisper' }
  const index = await ToolIndex.of(await loadSearchEngine(), [...loud, quiet], atOnce)
  const find = (query: string) => index.search(query, 5, atOnce)
  assert.equal(await find(wordOf(3, 198)), ['loud3'])
  assert.equal(await find(wordOf(3, 199)), [])
  assert.equal(await find(wordOf(109, 1)), [])
  assert.equal(await find('whisper'), ['quiet'])
})

test('tool names are split into words', () => {
  assert.equal(wordsOf('files__readTextFile-v2'), ['files', 'read', 'text', 'file', 'v2'])
  assert.equal(wordsOf('größe straße'), ['größe', 'straße'])
})

test.run()
