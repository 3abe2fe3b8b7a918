import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { inRoot } from '../../support/root.js'
import { suite } from '../../support/suite.js'

const test = suite('order of the files')
const room = inRoot('runtime', 'process')

test('README lists the files from the bottom up, each with what it rests on', () => {
  const page = readFileSync(join(room, 'README.md'), 'utf8')
  const rows = [...page.matchAll(/^\| `([\w-]+)\.ts` \| [^|]+ \| ([^|]+) \|$/gm)]
  const listed = rows.map(([, name = '', below = '']) => ({
    name,
    below: below === '-' ? [] : below.split(', '),
  }))
  const names = listed.map(({ name }) => name)
  const files = readdirSync(room).filter((file) => file.endsWith('.ts'))
  assert.equal([...names].sort(), files.map((file) => file.slice(0, -3)).sort())
  for (const [index, { name, below }] of listed.entries()) {
    const source = readFileSync(join(room, `${name}.ts`), 'utf8')
    const imported = new Set([...source.matchAll(/from '\.\/([\w-]+)\.js'/g)].map(([, file]) => file))
    assert.equal([...below].sort(), [...imported].sort(), name)
    for (const file of below) assert.ok(names.indexOf(file) < index, `${name} rests on ${file}`)
  }
})

test.run()
