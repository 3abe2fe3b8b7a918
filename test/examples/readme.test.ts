import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { root } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('README')

const quoted = /<!-- (test\/examples\/[\w./-]+\.(?:ts|mjs)) -->\n```(?:ts|js)\n([\s\S]*?)```/g

for (const page of ['README.md', 'runtime/README.md', 'server/README.md', 'server/from-the-sdk.md']) {
  test(`${page} quotes its programs as they are tested`, () => {
    const text = readFileSync(`${root}/${page}`, 'utf8')
    const programs = [...text.matchAll(quoted)]
    assert.ok(programs.length >= 3, `${page} quotes ${programs.length} programs`)
    for (const [, path = '', program] of programs)
      assert.is(program, readFileSync(`${root}/${path}`, 'utf8'), path)
  })
}

test.run()
