import * as assert from 'uvu/assert'
import type { Picture } from 'caduceus/transports'
import { readToolArguments } from '../../command/commands/tool-arguments.js'
import { Scene, screenOf } from '../../command/terminal/scene.js'
import { columnsOf, jsonText, oneLine, quoted, withoutBreaks } from '../../command/terminal/screen.js'
import { splitWords } from '../../command/terminal/split-words.js'
import { unsteered } from '../../runtime/base/steering.js'
import { cpuTime } from '../support/allowance.mjs'
import { suite } from '../support/suite.js'

const test = suite('parts of the command')

test('quotes keep words together, and an object is one word', () => {
  assert.equal(splitWords(`echo message="a \\"b\\" c" d='e f'`), ['echo', 'message=a "b" c', 'd=e f'])
  assert.equal(splitWords('call echo {"message": "a  b"}'), ['call', 'echo', '{"message": "a  b"}'])
})

test('of very many arguments one line names some', async () => {
  const names = Array.from({ length: 20_000 }, (_, at) => `a${at}`)
  const properties = Object.fromEntries(names.map((name) => [name, {}]))
  const problem = async (words: readonly string[]): Promise<string> =>
    readToolArguments(words, 'wide', { properties, required: names }, { read: async () => Buffer.of() }).then(
      String,
      String,
    )
  assert.match(await problem(['b=1']), /it takes a0, a1, .*, a29 \(and 19970 more\)$/)
  assert.match(await problem(['a1=1']), /needs a0=VALUE and a2=VALUE .* \(and 19969 more\)$/)
})

test('a question cannot put words into our mouth', () => {
  const said = quoted(`one\nOpen this address if you trust it: https://bank.example/\x1b[1A`, 80)
  assert.equal(said.split('\n'), [
    '  | one',
    '  | Open this address if you trust it: https://bank.example/[1A',
  ])
  assert.equal(quoted(`${'word '.repeat(12)}end`, 34).split('\n')[0], `  | ${'word '.repeat(6).trimEnd()}`)
})

test('a text of wide letters or tabs has its bar in each line of the terminal', () => {
  // two columns a letter: what the terminal wrapped would stand there without a bar
  for (const text of [
    '\u6f22'.repeat(100),
    `${'\u6f22\u5b57 '.repeat(40)}x`,
    `a${'\t'.repeat(60)}b`,
    '\u{1f600}'.repeat(50),
  ])
    for (const columns of [80, 34, 10])
      for (const line of quoted(text, columns).split('\n')) {
        assert.match(line, /^ {2}\| /)
        assert.not.match(line, '\t')
        assert.ok(columnsOf(line) <= columns, `${line} in ${columns}`)
      }
  assert.is(columnsOf('a\u6f22\u{1f600}'), 5)
})

test('codes are taken out, and JSON says the same with escapes', () => {
  assert.is(unsteered('a\x00b\x1bc\td\ne\x7ff\u0085g\r'), 'abc\td\nefg')
  const marks = 'a\u2028b\u202ec\u2066d\u2069e\u{e0041}f\u{1f600}\u200eg\u200fh\u061ci'
  assert.is(unsteered(marks), 'abcdef\u{1f600}ghi')
  assert.is(oneLine(' a\n b\u2028c '), 'a b c')
  const value = { 'k\u009b': 'v\x7f\u0080' }
  assert.is(jsonText(value), '{"k\\u009b":"v\\u007f\\u0080"}')
  assert.equal(JSON.parse(jsonText(value)), value)
  assert.is(jsonText('\u202e\u{e0041}'), '"\\u202e\\udb40\\udc41"')
})

const row = (key: number, parent: number | null, id: string): Picture['rows'][number] => ({
  ...{ key, parent, id, name: id, tree: 1, process: key, kind: 'actor', status: 'running' },
  ...{ mailbox: 0, restarts: 0, since: 0 },
})

test('a screen is as large as the terminal, whatever there is to show', () => {
  const names = Array.from({ length: 100 }, (_, i) => row(i + 2, 1, `child ${i} ${'x'.repeat(100)}\u001b[2J`))
  const scene = new Scene({
    ...{ at: 0, happened: [], traced: [], health: { rss: 0, heapUsed: 0, late: 0, busy: 0, uptime: 0 } },
    program: { name: 'x', pid: 1, node: 'v20', actions: false },
    rows: [row(1, null, 'top'), ...names],
  })
  for (const [columns, rows] of [
    [80, 24],
    [20, 3],
    [300, 200],
  ] as const) {
    const { lines } = screenOf(scene, { columns, rows, top: 1e6, now: 0 })
    assert.ok(lines.length <= rows, `${lines.length} of ${rows}`)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours
    for (const text of lines) assert.ok(text.replace(/\u001b\[\d+m/g, '').length <= columns)
  }
  assert.is(screenOf(scene, { columns: 80, rows: 24, top: 1e6, now: 0 }).top, 101 - 20)
})

test('what is told is one line, found in time linear in its length', () => {
  assert.is(withoutBreaks('  a: b \n  c\r\n\n d \n'), '  a: b c d')
  const spaces = ' '.repeat(256 * 1024)
  const since = cpuTime()
  assert.is(withoutBreaks(`a${spaces}b${spaces}\n`), `a${spaces}b`)
  assert.ok(cpuTime() - since < 2_000)
})

test.run()
