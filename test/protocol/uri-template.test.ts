import * as assert from 'uvu/assert'
import { ProtocolError } from '../../protocol/errors.js'
import { parseUriTemplate } from '../../protocol/uri-template.js'
import { suite } from '../support/suite.js'

const test = suite('protocol/uri-template')

const matches: readonly [string, string, Readonly<Record<string, string>> | undefined][] = [
  ['file:///{name}', 'file:///a.txt', { name: 'a.txt' }],
  ['file:///{name}', 'file:///a/b.txt', undefined],
  ['file:///{name}', 'file:///', undefined],
  ['file:///{+path}', 'file:///a/b.txt', { path: 'a/b.txt' }],
  ['db://{table}/{id}', 'db://users/7', { table: 'users', id: '7' }],
  ['db://{table}/{id}', 'db://users/7/8', undefined],
  ['db://{table}/{id}/rows', 'db://users/7/rows', { table: 'users', id: '7' }],
  ['db://{table}/{id}/rows', 'db://users/7/row', undefined],
  ['x:{a}-{b}', 'x:1-2-3', { a: '1-2', b: '3' }],
  ['x:{+path}/{file}', 'x:p/q/r', { path: 'p/q', file: 'r' }],
  ['x:{name}.json', 'x:a.json.json', { name: 'a.json' }],
  ['x:{name}', 'x:a%20b', { name: 'a b' }],
  ['x:{name}', 'x:a%2Fb', { name: 'a/b' }],
  ['x:{name}', 'x:%zz', undefined],
  ['x:{name}', 'x:a b', undefined],
  ['x:{name}', 'x:ä', { name: 'ä' }],
  ['x:{name}', 'y:a', undefined],
]

for (const [template, uri, expected] of matches) {
  test(`${template} ${expected === undefined ? 'does not match' : 'matches'} ${uri}`, () => {
    assert.equal(parseUriTemplate(template).match(uri), expected)
  })
}

for (const template of [
  'x:',
  'x:{}',
  'x:{a',
  'x:a}',
  'x:{a}{b}',
  'x:{a}/{a}',
  'x:{?q}',
  'x:{a,b}',
  'x:{__proto__}',
  `x:{a}${'y'.repeat(2_000)}`,
]) {
  test(`${template.slice(0, 20)} is no template that can be matched`, () => {
    assert.throws(
      () => parseUriTemplate(template),
      (error: unknown) => error instanceof ProtocolError && error.code === 'BAD_TEMPLATE',
    )
  })
}

test('the time to match grows with the length of the uri, and no faster', () => {
  const template = parseUriTemplate('x:{+a}/{+b}/{+c}/{+d}!')
  const time = (length: number): number => {
    const uri = `x:${'/a'.repeat(length / 2)}`
    const start = process.hrtime.bigint()
    for (let n = 0; n < 5; n++) assert.is(template.match(uri), undefined)
    return Number(process.hrtime.bigint() - start)
  }
  time(10_000)
  const best = (length: number): number => Math.min(...Array.from({ length: 5 }, () => time(length)))
  const [short, long] = [best(10_000), best(80_000)]
  // eight times the length: 8 when linear, 64 when quadratic, 4,096 when cubic
  assert.ok(long < short * 40, `${long / short}`)
})

test.run()
