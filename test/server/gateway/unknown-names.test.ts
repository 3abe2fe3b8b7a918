import * as assert from 'uvu/assert'
import { parseUriTemplate } from 'caduceus/protocol'
import { unknownNames } from '../../../server/gateway/unknown-names.js'
import { suite } from '../../support/suite.js'

const test = suite('gateway: unknown names')

const lists = {
  tools: [{ name: 'read' }, { name: 5 }],
  prompts: [{ name: 'ask' }],
  resources: [{ uri: 'note://1' }],
  templates: [{ uriTemplate: 'note://t/{x}' }],
}
const template = {
  own: 'note://t/{x}',
  listed: 'note://t/{x}',
  matcher: parseUriTemplate('note://t/{x}'),
  isLike: () => false,
}

test('names that fit something the server lists are not told of', () => {
  const all = ['read', 'ask', 'note://1', 'note://t/{x}', 're*', 'note://*', 'note://t/5', '*']
  const options = {
    allow: all,
    deny: all,
    rename: { read: 'open', ask: 'say' },
    maxCallsPerTool: { read: 1, 'resources/read': 1, 'prompts/get': 1, 'completion/complete': 1 },
  }
  assert.equal(unknownNames(options, lists, [template]), [])
  assert.equal(unknownNames({}, lists, [template]), [])
})

test('a name that fits nothing is told with its option and the name that may be meant', () => {
  const options = {
    allow: ['raed'],
    deny: ['other://x'],
    rename: { 'note://1': 'x' },
    maxCallsPerTool: { ask: 1 },
  }
  const told = unknownNames(options, lists, [template])
  assert.is(told.length, 4)
  assert.match(told[0] ?? '', /^allow: "raed" fits nothing that it lists.*"read".*, so it does nothing$/)
  assert.match(told[1] ?? '', /^deny: "other:\/\/x" fits nothing that it lists/)
  assert.match(told[2] ?? '', /^rename: "note:\/\/1" fits nothing that it lists/)
  assert.match(told[3] ?? '', /^maxCallsPerTool: "ask" fits nothing that it lists/)
})

test('a pattern of addresses may be of a template, where there is one', () => {
  const count = (pattern: string, templates: readonly (typeof template)[]) =>
    unknownNames({ deny: [pattern] }, lists, templates).length
  assert.is(count('file://*', [template]), 0)
  assert.is(count('file*', [template]), 1)
  assert.is(count('file://*', []), 1)
})

test.run()
