import * as assert from 'uvu/assert'
import { fits, likeTemplate, listedName, schemeOf } from '../../../server/gateway/names.js'
import { suite } from '../../support/suite.js'

const test = suite('gateway: names')
const free = (): boolean => false

test('a name of 64 characters stays, and a longer one ends with a digest', () => {
  const longest = 'x'.repeat(64)
  assert.is(listedName(undefined, '__', longest, free), longest)
  const shortened = listedName(undefined, '__', `${longest}x`, free)
  assert.match(shortened ?? '', /^x{55}_[\da-f]{8}$/)
  assert.is(listedName(undefined, '__', `${longest}x`, free), shortened)
  assert.is.not(listedName(undefined, '__', `${longest}y`, free), shortened)
})

test('what no name may have becomes an underscore, of the server, too', () => {
  assert.is(listedName('my files', '__', 'read file/v2', free), 'my_files__read_file_v2')
  assert.is(listedName(undefined, '__', 'read.file-2', free), 'read.file-2')
})

test('a taken name has a digest that is as long as it must be, or is left out', () => {
  const taken = new Set(['read'])
  const next = () => {
    const listed = listedName(undefined, '__', 'read', (name) => taken.has(name))
    if (listed !== undefined) taken.add(listed)
    return listed
  }
  assert.match(next() ?? '', /^read_[\da-f]{8}$/)
  assert.match(next() ?? '', /^read_[\da-f]{16}$/)
  assert.match(next() ?? '', /^read_[\da-f]{32}$/)
  assert.is(next(), undefined)
})

test('in a pattern * stands for anything, also for nothing', () => {
  for (const [name, pattern] of [
    ['read', 'read'],
    ['read', '*'],
    ['read', 'read*'],
    ['read', '*read'],
    ['read', 'r*d'],
    ['read_all_files', 'read*all*files'],
    ['abab', 'a*b*b'],
    ['', '*'],
  ] as const)
    assert.ok(fits(name, ['other', pattern]), `${name} ${pattern}`)
  for (const [name, pattern] of [
    ['read', 'rea'],
    ['read', 'ead*'],
    ['read', '*rea'],
    ['aba', 'ab*ba'],
    ['ab', 'ab*b'],
    ['read_files', 'read*all*files'],
    ['abc', 'a*c*b'],
    ['ab', 'a*b*b'],
    ['read', ''],
  ] as const)
    assert.not(fits(name, [pattern]), `${name} ${pattern}`)
  assert.not(fits('read', []))
})

test('a scheme is what comes before the first colon, in lower case', () => {
  assert.is(schemeOf('Git+SSH://h'), 'git+ssh')
  assert.is(schemeOf('{+x}'), undefined)
  assert.is(schemeOf('1x:y'), undefined)
})

test('an address is like a template whatever its variables are, up to the next slash', () => {
  const notes = likeTemplate('user://{id}/notes')
  for (const value of ['ada', 'ada lovelace', "o'brien", 'a,b;c&d=e', '%', '%ff', '', 'a?b#c', 'é', 'a\nb'])
    assert.ok(notes(`user://${value}/notes`), value)
  for (const uri of ['user://a/b/notes', 'user://a', 'user://a/notes/x', 'users://a/notes'])
    assert.not(notes(uri), uri)
  for (const template of ['file:///{+path}', 'file:///{path*}', 'file://{/path*}'])
    for (const uri of ['file:///a/b', 'file:///a b', 'file:///']) assert.ok(likeTemplate(template)(uri), uri)
  assert.ok(likeTemplate('db://{host}/{id}{?q}')('db://x/y?q=1&z'))
  assert.ok(likeTemplate('user://{user-id}')('user://ada'))
  const fields = likeTemplate('db://users/{id}{?fields}')
  for (const uri of ['db://users/1', 'db://users/a b?fields=x', 'db://users/1#x']) assert.ok(fields(uri), uri)
  for (const uri of ['db://users', 'db://users/1/posts', 'db://groups/1']) assert.not(fields(uri), uri)
  assert.ok(likeTemplate('db://all{?f}')('db://all?f=1'))
})

test.run()
