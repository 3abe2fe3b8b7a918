import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { inRoot } from '../support/root.js'
import { suite } from '../support/suite.js'
import { caduceus, newHome } from './_caduceus.js'

const test = suite('server/guide/hosts.md', { timeout: 30_000 })
const page = readFileSync(inRoot('server', 'guide', 'hosts.md'), 'utf8')
const blocks = [...page.matchAll(/```json\n(.*?)```/gs)].map(([, text = '']) => text)

test('all hosts are told the same server', () => {
  const entries = blocks.map((text) => {
    const [section = {}] = Object.values(JSON.parse(text) as Record<string, Record<string, object>>)
    const { type: _, ...entry } = section.notes as { type?: string }
    return JSON.stringify(entry)
  })
  assert.is(entries.length, 5)
  assert.is(new Set(entries).size, 2, entries.join('\n'))
})

test('the commands of caduceus write what the page says', async (t) => {
  const home = newHome(t)
  const lines = page.split('\n').filter((line) => line.startsWith('npx caduceus add '))
  assert.is(lines.length, 2)
  for (const [index, line] of lines.entries()) {
    const { code, err } = await caduceus(
      t,
      [...line.split(' ').slice(2), ...(index > 0 ? ['--force'] : [])],
      { home },
    )
    assert.is(code, 0, err)
    const { notes } = JSON.parse(readFileSync(join(home, '.cursor', 'mcp.json'), 'utf8')).mcpServers
    if (index === 0) assert.equal(notes, { command: 'npx', args: ['-y', '@acme/notes'] })
    else assert.equal(notes, { type: 'http', url: 'https://mcp.example.com/mcp' })
  }
})

test.run()
