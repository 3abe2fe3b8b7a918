// second tier: time
// shares a process
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { suite } from '../support/suite.js'
import { caduceus, newHome, overStdio } from './_caduceus.js'

const test = suite('files that caduceus call reads and writes', { timeout: 30_000 })
const pictures = ['--', process.execPath, fileURLToPath(new URL('./_pictures.js', import.meta.url))]

test('arguments come from standard input, a file, or a file for each', async (t) => {
  const home = newHome(t)
  writeFileSync(join(home, 'args.json'), '{"a": 1, "b": 2}\n')
  writeFileSync(join(home, 'notes.txt'), 'first\nsecond\n')
  writeFileSync(join(home, 'two'), '2\n')
  const say = async (args: string[], input = ''): Promise<string> => {
    const { code, out, err } = await caduceus(t, ['call', ...args, ...overStdio], { home, input })
    assert.is(code, 0, err)
    return out
  }
  assert.is(await say(['add', '-'], '{"a": 2, "b": 2}'), '4\n')
  assert.is(await say(['add', '@args.json']), '3\n')
  assert.is(await say(['add', '@args.json', 'b=5']), '6\n')
  assert.is(await say(['add', 'a=1', 'b=@two']), '3\n')
  assert.is(await say(['echo', 'message=@notes.txt']), 'first\nsecond\n')
  assert.is(await say(['echo', 'message=@-'], 'piped'), 'piped\n')
  assert.is(await say(['echo', 'message=@@ada']), '@ada\n')
})

test('what cannot be read is one line that says what to do', async (t) => {
  const home = newHome(t)
  writeFileSync(join(home, 'bytes'), Buffer.from([0xff, 0xfe, 0x00]))
  writeFileSync(join(home, 'list.json'), '[1]')
  for (const [args, expected, input] of [
    [
      ['echo', 'message=@ada'],
      /^caduceus: ada cannot be read \(ENOENT\); for a text that begins with @ write @@\n$/,
    ],
    [['echo', 'message=@bytes'], /^caduceus: bytes is no text in UTF-8\n$/],
    [['echo', '@list.json'], /^caduceus: list\.json: expected a JSON object\n$/],
    [['echo', '-'], /^caduceus: standard input: no JSON: .*\n$/, 'nonsense'],
    [['echo', '@'], /expected the name of a file, or @- for standard input/],
  ] as const) {
    const { code, err } = await caduceus(t, ['call', ...args, ...overStdio], { home, input: input ?? '' })
    assert.is(code, 2, args.join(' '))
    assert.match(err, expected)
  }
})

test('--output writes images as bytes, several with numbers, and prints the rest', async (t) => {
  const home = newHome(t)
  const { code, out, err } = await caduceus(t, ['call', 'shots', '--output', 'shot.png', ...pictures], {
    home,
  })
  assert.is(code, 0, err)
  assert.is(out, 'two shots\n')
  assert.equal([...readFileSync(join(home, 'shot.png'))], [0xff, 0x00, 0x0a])
  assert.is(readFileSync(join(home, 'shot-2.png'), 'utf8'), 'second')
  const again = await caduceus(t, ['call', 'shots', '--output', 'shot.png', ...pictures], { home })
  assert.is(again.code, 2)
  assert.match(again.err, /^caduceus: shot\.png is there already: give --force to replace it\n$/)
  assert.not.ok(existsSync(join(home, 'called-twice')), 'nothing was called in vain')
  rmSync(join(home, 'shot.png'))
  const half = await caduceus(t, ['call', 'shots', '--output', 'shot.png', ...pictures], { home })
  assert.is(half.code, 2)
  assert.match(half.err, /^caduceus: shot-2\.png is there already/)
  assert.not.ok(existsSync(join(home, 'shot.png')), 'all files or none')
  const forced = await caduceus(
    t,
    ['call', 'shots', '--output', 'shot.png', '--force', '--json', ...pictures],
    { home },
  )
  assert.equal(
    JSON.parse(forced.out).written.map(({ file, bytes }: { file: string; bytes: number }) => [file, bytes]),
    [
      ['shot.png', 3],
      ['shot-2.png', 6],
    ],
  )
  assert.equal(
    readdirSync(home).filter((name) => name.startsWith('.shot')),
    [],
  )
})

test('--output writes text, keeps mode and links, and nothing of a tool that fails', async (t) => {
  const home = newHome(t)
  mkdirSync(join(home, 'real'))
  writeFileSync(join(home, 'real', 'kept.txt'), 'before')
  chmodSync(join(home, 'real', 'kept.txt'), 0o640)
  symlinkSync(join('real', 'kept.txt'), join(home, 'out.txt'))
  const args = ['call', 'echo', 'message=hi', '--output', 'out.txt', '--force', ...overStdio]
  assert.is((await caduceus(t, args, { home })).code, 0)
  assert.is(readFileSync(join(home, 'real', 'kept.txt'), 'utf8'), 'hi')
  assert.is(statSync(join(home, 'real', 'kept.txt')).mode & 0o777, 0o640)
  const failed = await caduceus(t, ['call', 'fail', '--output', 'out.txt', '--force', ...overStdio], { home })
  assert.is(failed.code, 1)
  assert.is(readFileSync(join(home, 'out.txt'), 'utf8'), 'hi')
  const nowhere = await caduceus(t, ['call', 'echo', 'message=hi', '--output', 'no/where', ...overStdio], {
    home,
  })
  assert.match(nowhere.err, /^caduceus: no\/where cannot be written \(ENOENT\)\n$/)
})

test.run()
