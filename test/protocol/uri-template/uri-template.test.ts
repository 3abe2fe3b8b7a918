import * as assert from 'uvu/assert'
import { parseUriTemplate, ProtocolError } from 'caduceus/protocol'
import { cpuTime } from '../../support/allowance.mjs'
import { suite } from '../../support/suite.js'

const test = suite('protocol/uri-template/uri-template')

const matches: readonly [string, string, Readonly<Record<string, unknown>> | undefined][] = [
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
  ['x:{a}{b}', 'x:12', { a: '1', b: '2' }],
  ['x:{+a}{+b}{+c}z', 'x:12345z', { a: '123', b: '4', c: '5' }],
  ['x:{a,b}', 'x:1,2', { a: '1', b: '2' }],
  ['x:/{a:3}', 'x:/abc', { a: 'abc' }],
  ['x:/{a:3}', 'x:/abcd', undefined],
  ['x:/{a:2}/{b}', 'x:/%C3%A4b/c', { a: 'äb', b: 'c' }],
  ['x:/{a:2}/{b}', 'x:/%C3%A4bc/c', undefined],
  ['files:{/path*}', 'files:/a/b/c', { path: ['a', 'b', 'c'] }],
  ['files:{/path*}', 'files:', undefined],
  ['files:{/path*,name}', 'files:/a/b/c', { path: ['a', 'b'], name: 'c' }],
  ['x:{/a,b}', 'x:/1/2', { a: '1', b: '2' }],
  ['x:{file}{.ext}', 'x:a.tar.gz', { file: 'a.tar', ext: 'gz' }],
  ['x:list{?page,size}', 'x:list?size=5&page=2', { page: '2', size: '5' }],
  ['x:list{?page,size}', 'x:list?page=2', { page: '2' }],
  ['x:list{?page,size}', 'x:list', {}],
  ['x:list{?page,size}', 'x:list?other=1', undefined],
  ['x:list{?page}', 'x:list?page=1&page=2', undefined],
  ['x:list{?rest*}', 'x:list?a=1&b=%26', { rest: { a: '1', b: '&' } }],
  ['x:list?fixed=1{&q}', 'x:list?fixed=1&q=a%20b', { q: 'a b' }],
  ['x:list{?q}{#part}', 'x:list?q=1#top', { q: '1', part: 'top' }],
  ['x:p{;a,b}', 'x:p;b=2;a', { a: '', b: '2' }],
  ['x:p{;a}/end', 'x:p;a=1/end', { a: '1' }],
  ['x:{#part}', 'x:#a/b', { part: 'a/b' }],
  ['x:{list*}', 'x:a,b', { list: ['a', 'b'] }],
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
  'x:{a}/{a}',
  'x:{a,}',
  'x:{a:0}',
  'x:{a:x}',
  'x:{a*:3}',
  'x:{=a}',
  'x:{__proto__}',
  `x:{a}${'y'.repeat(2_000)}`,
]) {
  test(`${template.slice(0, 20)} is an invalid template for matching`, () => {
    assert.throws(
      () => parseUriTemplate(template),
      (error: unknown) => error instanceof ProtocolError && error.code === 'BAD_TEMPLATE',
    )
  })
}

const values = {
  count: ['one', 'two', 'three'],
  dom: ['example', 'com'],
  dub: 'me/too',
  hello: 'Hello World!',
  half: '50%',
  var: 'value',
  who: 'fred',
  base: 'http://example.com/home/',
  path: '/foo/bar',
  list: ['red', 'green', 'blue'],
  keys: { semi: ';', dot: '.', comma: ',' },
  v: 6,
  x: 1024,
  y: 768,
  empty: '',
  mended: '\ud800a',
  empty_keys: {},
  undef: undefined,
}

// RFC 6570, sections 2.4 and 3.2
const expansions: readonly [string, string][] = [
  ['{count}', 'one,two,three'],
  ['{count*}', 'one,two,three'],
  ['{/count}', '/one,two,three'],
  ['{/count*}', '/one/two/three'],
  ['{;count}', ';count=one,two,three'],
  ['{;count*}', ';count=one;count=two;count=three'],
  ['{?count}', '?count=one,two,three'],
  ['{?count*}', '?count=one&count=two&count=three'],
  ['{&count*}', '&count=one&count=two&count=three'],
  ['{var}', 'value'],
  ['{hello}', 'Hello%20World%21'],
  ['{half}', '50%25'],
  ['O{empty}X', 'OX'],
  ['O{undef}X', 'OX'],
  ['{x,y}', '1024,768'],
  ['{x,hello,y}', '1024,Hello%20World%21,768'],
  ['?{x,empty}', '?1024,'],
  ['?{x,undef}', '?1024'],
  ['?{undef,y}', '?768'],
  ['{var:3}', 'val'],
  ['{var:30}', 'value'],
  ['{keys}', 'semi,%3B,dot,.,comma,%2C'],
  ['{keys*}', 'semi=%3B,dot=.,comma=%2C'],
  ['{+hello}', 'Hello%20World!'],
  ['{+half}', '50%25'],
  ['{base}index', 'http%3A%2F%2Fexample.com%2Fhome%2Findex'],
  ['{+base}index', 'http://example.com/home/index'],
  ['{+path:6}here', '/foo/bhere'],
  ['{+keys*}', 'semi=;,dot=.,comma=,'],
  ['{#x,hello,y}', '#1024,Hello%20World!,768'],
  ['{#path:6}here', '#/foo/bhere'],
  ['foo{#empty}', 'foo#'],
  ['foo{#undef}', 'foo'],
  ['{#keys*}', '#semi=;,dot=.,comma=,'],
  ['www{.dom*}', 'www.example.com'],
  ['X{.var:3}', 'X.val'],
  ['X{.empty}', 'X.'],
  ['X{.keys*}', 'X.semi=%3B.dot=..comma=%2C'],
  ['X{.empty_keys}', 'X'],
  ['{/who,dub}', '/fred/me%2Ftoo'],
  ['{/var,empty}', '/value/'],
  ['{/var:1,who}', '/v/fred'],
  ['{/list*,path:4}', '/red/green/blue/%2Ffoo'],
  ['{/keys*}', '/semi=%3B/dot=./comma=%2C'],
  ['{;v,empty,who}', ';v=6;empty;who=fred'],
  ['{;v,bar,who}', ';v=6;who=fred'],
  ['{;hello:5}', ';hello=Hello'],
  ['{;keys}', ';keys=semi,%3B,dot,.,comma,%2C'],
  ['{;keys*}', ';semi=%3B;dot=.;comma=%2C'],
  ['{?x,y,empty}', '?x=1024&y=768&empty='],
  ['{?x,y,undef}', '?x=1024&y=768'],
  ['{?var:3}', '?var=val'],
  ['{?keys*}', '?semi=%3B&dot=.&comma=%2C'],
  ['?fixed=yes{&x}', '?fixed=yes&x=1024'],
  ['{&x,y,empty}', '&x=1024&y=768&empty='],
  ['x:ä {var}', 'x:%C3%A4%20value'],
  ['{mended}', '%EF%BF%BDa'],
]

test('expansions are those of RFC 6570', () => {
  for (const [template, uri] of expansions)
    assert.is(parseUriTemplate(template).expand(values), uri, template)
})

test('an expanded template matches its own values', () => {
  for (const [template, given] of [
    ['x:{a}/{+b}!{/c*}{?d,e}{#f}', { a: 'ä/b', b: '1/2', c: ['x', 'y z'], d: '&', e: '', f: 'end' }],
    ['x:{a}{;b,c}/{d:3}', { a: '1', b: '2', c: '3', d: 'äöü' }],
  ] as const) {
    const parsed = parseUriTemplate(template)
    assert.equal(parsed.match(parsed.expand(given)), given)
  }
})

test('a value that cannot be written is refused with its name', () => {
  for (const value of [Number.NaN, Symbol('x'), [{}], () => {}])
    assert.throws(
      () => parseUriTemplate('x:{name}').expand({ name: value as never }),
      (error: unknown) => error instanceof ProtocolError && /name: expected text/.test(error.message),
    )
})

test('matching a URI takes linear time', () => {
  const template = parseUriTemplate('x:{+a}/{+b}/{+c}/{+d}!')
  const time = (length: number): number => {
    const uri = `x:${'/a'.repeat(length / 2)}`
    const start = cpuTime()
    for (let n = 0; n < 5; n++) assert.is(template.match(uri), undefined)
    return cpuTime() - start
  }
  time(10_000)
  const best = (length: number): number => Math.min(...Array.from({ length: 5 }, () => time(length)))
  const [short, long] = [best(10_000), best(80_000)]
  // eight times the length: 8 when linear, 64 when quadratic, 4,096 when cubic
  assert.ok(long < short * 40, `${long / short}`)
})

test('64 KiB of hostile text do not match any trap and take a few milliseconds', () => {
  const traps = [
    ['x://{+a}-{+b}-{+c}-{+d}z', '-'],
    ['x:{+a}{+b}{+c}z', 'a'],
    ['file://{+dir}/{+name}.md', '/'],
    ['x:{a:9999}{/b*}{?c*}#', '/'],
  ] as const
  for (const [template, mark] of traps) {
    const parsed = parseUriTemplate(template)
    const uri = `${template.slice(0, template.indexOf('{'))}${mark.repeat(65_536)}`
    const measure = (): number => {
      const start = cpuTime()
      assert.is(parsed.match(uri), undefined)
      // the end fits as well, so that every step has to look
      parsed.match(`${uri}${template.slice(template.lastIndexOf('}') + 1)}`)
      return cpuTime() - start
    }
    measure()
    let best = measure()
    // what else the machine does disturbs, too
    for (let tries = 1; tries < 40 && best >= 20; tries++) best = Math.min(best, measure())
    assert.ok(best < 20, `${template}: ${best} ms`)
  }
})

test('fifty templates without a word in common with 64 KiB take a few milliseconds', () => {
  const templates = Array.from({ length: 50 }, (_, n) => parseUriTemplate(`x://{a}/${n}/{b}{?c,d}`))
  const uri = `x://${'a/../'.repeat(13_000)}`
  const measure = (): number => {
    const start = cpuTime()
    assert.ok(templates.every((template) => template.match(uri) === undefined))
    return cpuTime() - start
  }
  let best = measure()
  for (let tries = 1; tries < 40 && best >= 20; tries++) best = Math.min(best, measure())
  assert.ok(best < 20, `${best} ms`)
})

test('fields that are undefined or null are left out', () => {
  const value = { x: undefined, y: null, z: 1, e: '' } as never
  assert.is(parseUriTemplate('x:{?a*}').expand({ a: value }), 'x:?z=1&e=')
  assert.is(parseUriTemplate('x:{?a}').expand({ a: { x: undefined } as never }), 'x:')
})

test('a wrong template or value is refused with BAD_TEMPLATE', () => {
  const isBad = (error: unknown): boolean => error instanceof ProtocolError && error.code === 'BAD_TEMPLATE'
  for (const template of [
    'x:{a',
    'x:a}',
    'x:{a}}',
    'x:{{a}}',
    'x:{}',
    'x:{a,}',
    'x:{a b}',
    'x:{=a}',
    'x:{__proto__}',
    'x:{a:0}',
    'x:{a:10000}',
    'x:{a:3*}',
    'x:{a:x}',
    `x:{a}${'a'.repeat(1_996)}`,
  ])
    assert.throws(() => parseUriTemplate(template), isBad, template)
  assert.is(parseUriTemplate(`x:{a}${'a'.repeat(1_995)}`).expand({}).length, 1_997)
  assert.throws(() => parseUriTemplate('x:{a}').expand({ a: Number.NaN }), isBad)
})

test('a parameter of the query may have an empty name', () => {
  assert.equal(parseUriTemplate('x:{?a*}').match('x:?=v'), { a: { '': 'v' } })
  assert.equal(parseUriTemplate('x:{?a*}').match('x:?v'), { a: { v: '' } })
})

test.run()
