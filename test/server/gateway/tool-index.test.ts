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
  const index = new ToolIndex(await loadSearchEngine(), tools)
  assert.is(index.search('read file', 3)[0], 'files__read_file')
  assert.is(index.search('write_file', 3)[0], 'files__writeFile')
  assert.equal(index.search('forecast for a town', 1), ['weather__forecast'])
  assert.equal(index.search('weathr', 5), ['weather__forecast'])
  assert.equal(index.search('quantum', 5), [])
  assert.equal(index.search('', 5), [])
})

test('the tool index bounds results and query length', async () => {
  const many = Array.from({ length: 1_000 }, (_, n) => ({ name: `tool_${n}`, description: 'does things' }))
  const index = new ToolIndex(await loadSearchEngine(), [...many, ...many])
  assert.is(index.search('things', 10).length, 10)
  assert.ok(index.search('things '.repeat(100_000), 5).length === 5)
})

test('tool names are split into words', () => {
  assert.equal(wordsOf('files__readTextFile-v2'), ['files', 'read', 'text', 'file', 'v2'])
  assert.equal(wordsOf('größe straße'), ['größe', 'straße'])
})

test.run()
