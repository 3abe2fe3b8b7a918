// second tier: terminal, time
// shares a process
// time limit: 180 s
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { suite, type TestContext } from '../support/suite.js'
import { caduceus, environmentOf, newHome, program, serverFile } from './_caduceus.js'
import { openTerminal } from './_terminal.js'

const test = suite('completion of caduceus in a shell', { timeout: 90_000 })

/** A home with a file of servers, one of which has been listed, and a program `caduceus` in PATH. */
async function place(t: TestContext) {
  const home = newHome(t)
  const entry = { command: process.execPath, args: [serverFile, '--stdio'] }
  const never = { command: 'sh', args: ['-c', 'touch started'] }
  const mcpServers = {
    ...{ sample: entry, 'samba:x': never, 'sam $(touch hit)': never, 'sam;touch hit': never },
    ...{
      'sam`touch hit`': never,
      'sam\u001b[31m': never,
      'sam\u202e': never,
      '--force': never,
      '@sam': never,
    },
  }
  writeFileSync(join(home, '.mcp.json'), JSON.stringify({ mcpServers }))
  const used = await caduceus(t, ['list', 'sample'], { home })
  assert.is(used.code, 0, used.err)
  mkdirSync(join(home, 'bin'))
  writeFileSync(join(home, 'bin', 'caduceus'), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`)
  chmodSync(join(home, 'bin', 'caduceus'), 0o755)
  const env = { ...environmentOf(home), PATH: `${join(home, 'bin')}:${process.env.PATH}` }
  const shell = (name: string, args: readonly string[]): string => {
    const { status, stdout, stderr } = spawnSync(name, args, {
      cwd: home,
      env,
      encoding: 'utf8',
      timeout: 30_000,
    })
    assert.is(status, 0, `${name}: ${stderr}`)
    return stdout
  }
  return { home, shell }
}

function needing(name: string, promise: string, fn: (t: TestContext) => Promise<void>): void {
  if (spawnSync(name, ['--version']).error === undefined) test(promise, fn)
  else test.skip(promise, `${name} is not installed`)
}

const lines: readonly (readonly [line: string, found: readonly string[]])[] = [
  ['caduceus comp', ['complete', 'completion']],
  ['caduceus call sam', ['samba:x', 'sample']],
  ['caduceus call samba:', ['x']],
  ['caduceus call sample e', ['echo']],
  ['caduceus call --timeout 5 sample add ', ['a=', 'b=']],
  ['caduceus call sample add a=1 ', ['b=']],
  ['caduceus serve --tls', ['--tls-cert', '--tls-key']],
  ['caduceus call sample add --outp', ['--output']],
  ['caduceus call samba:x ', []],
  [
    'caduceus call -',
    [
      '--config',
      '--env',
      '--era',
      '--force',
      '--header',
      '--input',
      '--json',
      '--output',
      '--sampling',
      '--timeout',
      '--verbose',
    ],
  ],
  ['caduceus remove --file .mcp.json sam', ['samba:x', 'sample']],
  ['caduceus config ', ['get', 'set', 'unset']],
  ['caduceus call --config other.json sample e', []],
  ['caduceus call $(touch hit) `touch hit` ', []],
]

needing('bash', 'bash completes commands, servers, tools, arguments and options', async (t) => {
  const { home, shell } = await place(t)
  const said = shell('bash', [
    '--norc',
    '-c',
    `source <(caduceus completion bash)
compopt() { :; }
try() {
  COMP_LINE=$1 COMP_POINT=\${#1}
  # as readline takes a line apart
  read -ra COMP_WORDS <<< "\${1//:/ : }"
  COMP_CWORD=\${#COMP_WORDS[@]}
  _caduceus
  echo "\${COMPREPLY[*]}"
}
${lines.map(([line]) => `try '${line}'`).join('\n')}
ls`,
  ]).split('\n')
  for (const [index, [line, found]] of lines.entries()) assert.is(said[index], found.join(' '), line)
  assert.equal(said.slice(lines.length).filter(Boolean), ['bin'], `nothing of a name was run in ${home}`)
})

needing('fish', 'fish completes commands, servers, tools and arguments', async (t) => {
  const { shell } = await place(t)
  const ask = (line: string): string[] =>
    shell('fish', ['--no-config', '-c', `caduceus completion fish | source; complete -C '${line}'`])
      .split('\n')
      .map((each) => each.split('\t')[0] ?? '')
      .filter((each) => each !== '')
  assert.equal(ask('caduceus comp'), ['complete', 'completion'])
  assert.equal(ask('caduceus call sam'), ['samba:x', 'sample'])
  assert.equal(ask('caduceus call sample e'), ['echo'])
  assert.equal(ask('caduceus call sample add '), ['a=', 'b='])
})

needing('zsh', 'zsh completes commands, servers, tools and arguments', async (t) => {
  const { shell } = await place(t)
  const ask = (...words: string[]): string =>
    shell('zsh', [
      '-f',
      '-c',
      `compdef() { :; }; compadd() { print -r -- "$@" }; _files() { print -r -- files }
source <(caduceus completion zsh)
words=(${words.map((word) => `'${word}'`).join(' ')}); CURRENT=${words.length}; _caduceus`,
    ]).trim()
  assert.is(ask('caduceus', 'comp'), '-- complete completion')
  assert.is(ask('caduceus', 'call', 'sam'), '-- samba:x sample')
  assert.is(ask('caduceus', 'call', 'sample', 'add', ''), '-S  -- a= b=')
  assert.is(ask('caduceus', 'serve', 'x'), 'files')
})

/** How each shell is started, and has the script. */
const shells = [
  ['bash', 'bash --norc', 'source <(caduceus completion bash)'],
  ['zsh', 'zsh -f', 'autoload -U compinit; compinit -u; source <(caduceus completion zsh)'],
  ['fish', 'fish --no-config', 'caduceus completion fish | source'],
] as const

for (const [name, start, load] of shells)
  needing(name, `${name} completes a line that is typed`, async (t) => {
    const { home } = await place(t)
    const line = `PATH='${join(home, 'bin')}':"$PATH" PS1='> ' ${start}`
    const { type, shows, until } = openTerminal(t, home, line.replaceAll('\\', ''))
    type(`${load}; echo loa''ded`, 'Enter')
    await shows('loaded\n')
    type('caduceus call samp', 'Tab')
    await shows('caduceus call sample')
    type('ech', 'Tab')
    await shows('sample echo')
    type('mes', 'Tab')
    await shows('echo message=')
    // no space behind it: the value follows
    type('hi', 'Enter')
    await until((screen) => /^hi$/m.test(screen))
    assert.not.ok(existsSync(join(home, 'hit')))
  })

test('a file that is wrong, or a pipe, completes nothing, at once and in silence', async (t) => {
  const home = newHome(t)
  writeFileSync(join(home, '.mcp.json'), '{ broken')
  spawnSync('mkfifo', [join(home, 'pipe')])
  for (const words of [
    ['call', ''],
    ['call', '--config', 'pipe', ''],
  ]) {
    const { code, out, err } = await caduceus(t, ['completion', 'suggest', '--', ...words], { home })
    assert.equal({ code, out, err }, { code: 0, out: '', err: '' })
  }
  const { code, err } = await caduceus(t, ['completion', 'csh'], { home })
  assert.is(code, 2)
  assert.match(err, /^caduceus: completion: expected bash, zsh or fish, got csh\n$/)
})

test.run()
