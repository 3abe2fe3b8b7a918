import * as assert from 'uvu/assert'
import { batchFileOf, batchFileProblem } from '../../../transports/stdio/spawn.js'
import { explainSpawnError } from '../../../transports/stdio/spawn.js'
import { suite } from '../../support/suite.js'

const test = suite('batch files of Windows')

const files = new Set([
  'C:\\Program Files\\nodejs\\npx.cmd',
  'C:\\work\\run.bat',
  'C:\\work\\tools\\serve.cmd',
  'D:\\bin\\npx.cmd',
])
const place = { path: 'C:\\Windows;;C:\\Program Files\\nodejs;D:\\bin', cwd: 'C:\\work' }

const found: readonly (readonly [string, string | undefined])[] = [
  ['npx', 'C:\\Program Files\\nodejs\\npx.cmd'],
  ['npx.cmd', 'npx.cmd'],
  ['NPX.CMD', 'NPX.CMD'],
  ['C:\\x\\a.bat', 'C:\\x\\a.bat'],
  ['a.bat. .', 'a.bat. .'],
  ['run', 'C:\\work\\run.bat'],
  ['tools/serve', 'C:\\work\\tools\\serve.cmd'],
  ['.\\tools\\serve', 'C:\\work\\tools\\serve.cmd'],
  ['D:\\bin\\npx', 'D:\\bin\\npx.cmd'],
  ['node', undefined],
  ['npx.exe', undefined],
  ['tools/npx', undefined],
  ['cmd.example', undefined],
]

for (const [command, file] of found) {
  test(`${command} is ${file ?? 'no batch file'}`, () => {
    assert.is(
      batchFileOf({ ...place, command }, (one) => files.has(one)),
      file,
    )
  })
}

test('without PATH only the folder is looked at', () => {
  assert.is(
    batchFileOf({ command: 'npx', path: undefined, cwd: 'C:\\work' }, (one) => files.has(one)),
    undefined,
  )
})

test('a batch file is a fatal failure, which says what it is and what to do', () => {
  const cause = Object.assign(new Error('spawn EINVAL'), { code: 'EINVAL' })
  const settings = { command: 'npx.cmd', env: {}, cwd: process.cwd() }
  const { error, fatal } = explainSpawnError(cause, settings, 'win32')
  assert.is(fatal, true)
  assert.is(error.code, 'SPAWN_FAILED')
  assert.match(error.message, /npx\.cmd is a batch file.*process\.execPath.*cmd\.exe/)
  assert.is(error.cause, cause)
  assert.match(batchFileProblem('npx', 'C:\\n\\npx.cmd'), /^npx \(C:\\n\\npx\.cmd\) is a batch file/)
})

test('elsewhere a file of that name is a file like any other', () => {
  const cause = Object.assign(new Error('spawn npx.cmd ENOENT'), { code: 'ENOENT' })
  const settings = { command: 'npx.cmd', env: {}, cwd: process.cwd() }
  assert.is(explainSpawnError(cause, settings, 'linux').error.code, 'COMMAND_NOT_FOUND')
})

test.run()
