// second tier: time
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { makeProject, type Outcome, runNode } from '../support/project.js'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'

const { checkHouse } = (await import(inRoot('scripts', 'house', 'check-house.mjs'))) as {
  checkHouse(root: string, scope: readonly string[]): Promise<{ problems: number; text: string }>
}
const test = suite('check', { timeout: 20_000 })

async function check(t: TestContext, files: Record<string, string>, ...args: string[]): Promise<Outcome> {
  const project = makeProject(t, files)
  return runNode([inRoot('scripts', 'check.mjs'), '--root', project, ...args], project, t.signal)
}

/** Checks the rules of the house on `files` and expects exactly these lines, in any order. */
async function expectFindings(
  t: TestContext,
  files: Record<string, string>,
  expected: string[],
): Promise<void> {
  const { problems, text } = await checkHouse(makeProject(t, files), [])
  const lines = text === '' ? [] : text.split('\n')
  assert.equal(lines.sort(), [...expected].sort())
  assert.is(problems, expected.length)
}

test('a tree that keeps the rules passes', async (t) => {
  const files = {
    'index.ts': `export { serve } from './server/serve.js'\nexport { connect } from './client/connect.js'\n`,
    'runtime/index.ts': `export { actor } from './process/actor.js'\n`,
    'runtime/process/actor.ts': `import { inspect } from 'node:util'\nexport const actor = inspect\n`,
    'protocol/message.ts': `export type Message = { readonly id: number }\n`,
    'transports/link.ts': `import { actor } from '../runtime/process/actor.js'
import type { Message } from '../protocol/message.js'
import { createServer } from 'node:http'
export const link = (message: Message) => [message, actor, createServer]\n`,
    'server/serve.ts': `import { link } from '../transports/link.js'\nexport const serve = link\n`,
    'client/connection/client-machine.ts': `import { setup } from 'xstate'\nexport const machine = setup\n`,
    'client/connect.ts': `export const connect = async () => (await import('./connection/client-machine.js')).machine\n`,
  }
  await expectFindings(t, files, [])
  assert.equal(await check(t, files, '--only', 'house'), { code: 0, output: 'check house: ok\n' })
})

test('only one place may parse the target of a request', (t) =>
  expectFindings(
    t,
    {
      'transports/a.ts': `export const a = (request: { url: string }) => new URL(request.url ?? '/', 'http://x')\n`,
      'transports/b.ts': `export const b = ({ url }: { url: string }) => new URL(url)\n`,
    },
    [
      'transports/a.ts:1 new URL of a request: it throws for //; pathOf and queryOf (transports/base/target.ts)',
    ],
  ))

test('imports that go up or sideways are named', (t) =>
  expectFindings(
    t,
    {
      'runtime/a.ts': `import { b } from '../protocol/b.js'\nexport const a = b\n`,
      'protocol/b.ts': `export const b = 1\nexport type B = import('../transports/c.js').C\n`,
      'transports/c.ts': `export type C = 1\nexport { d } from '../server/d.js'\n`,
      'server/d.ts': `export const d = () => import('../client/e.js')\n`,
      'client/e.ts': `import type { D } from '../server/f.js'\nimport { x } from '../test/x.js'\nexport type E = [D, typeof x]\n`,
      'server/f.ts': 'export type D = 1\n',
      'test/x.ts': 'export const x = 1\n',
    },
    [
      'runtime/a.ts:1 imports protocol/b.ts: runtime/ may import runtime/',
      'protocol/b.ts:2 imports transports/c.ts: protocol/ may import protocol/',
      'transports/c.ts:2 imports server/d.ts: transports/ may import transports/, runtime/, protocol/',
      'server/d.ts:1 imports client/e.ts: server/ may import server/, transports/, runtime/, protocol/',
      'client/e.ts:1 imports server/f.ts: client/ may import client/, transports/, runtime/, protocol/',
      'client/e.ts:2 imports test/x.ts, which lies outside of the library',
    ],
  ))

test('an imported index.ts and a missing file are named', (t) =>
  expectFindings(
    t,
    {
      'runtime/index.ts': `export { a } from './a.js'\n`,
      'runtime/a.ts': `export const a = 1\n`,
      'server/b.ts': `import { a } from '../runtime/index.js'\nimport { c } from './c.js'\nexport const b = [a, c]\n`,
    },
    [
      'server/b.ts:1 imports runtime/index.ts: a door for people outside; import the file that defines the name',
      'server/b.ts:2 imports server/c.ts, which does not exist',
    ],
  ))

test('the doors at the top are library, too, and may import every floor', (t) =>
  expectFindings(
    t,
    {
      'runtime/index.ts': `export { a } from './a.js'\n`,
      'runtime/a.ts': `export const a = 1\n`,
      'server/b.ts': `export const b = 1\n`,
      'client/c.ts': `export const c = 1\n`,
      'testing.ts': `import { a } from './runtime/index.js'\nimport { b } from './server/b.js'\nimport { c } from './client/c.js'\nexport let d = [a, b, c]\n`,
    },
    [
      'testing.ts:1 imports runtime/index.ts: a door for people outside; import the file that defines the name',
      'testing.ts:4 let at module level: keep state in an actor',
    ],
  ))

test('imports against the table of rooms, and rooms that it does not have, are named', (t) =>
  expectFindings(
    t,
    {
      'runtime/base/a.ts': `import { b } from '../process/b.js'\nexport const a = b\n`,
      'runtime/process/b.ts': `import type { C } from '../attic/c.js'\nexport const b = (c: C) => c\n`,
      'runtime/attic/c.ts': 'export type C = 1\n',
      'protocol/messages/shapes/d.ts': `import { e } from '../e.js'\nexport const d = e\n`,
      'protocol/messages/e.ts': 'export const e = 1\n',
      'protocol/wire/f.ts': `import { d } from '../messages/shapes/d.js'\nimport { g } from '../g.js'\nexport const f = [d, g]\n`,
      'protocol/g.ts': 'export const g = 1\n',
    },
    [
      'runtime/base/a.ts:1 imports runtime/process/b.ts: runtime/base/ may import no other room of its floor',
      'runtime/process/b.ts:1 imports runtime/attic/c.ts: runtime/process/ may import base/, time/, faults/, watchdog/ of its floor',
      'runtime/attic/c.ts:1 runtime/attic/ is no room of the table in scripts/house/rooms.mjs',
      'protocol/wire/f.ts:1 imports protocol/messages/shapes/d.ts: protocol/wire/ may import no other room of its floor',
      'protocol/wire/f.ts:2 imports protocol/g.ts: protocol/wire/ may import no other room of its floor',
    ],
  ))

test('rooms of the table import only those above them', async () => {
  const { findDisorder } = (await import(inRoot('scripts', 'house', 'rooms.mjs'))) as {
    findDisorder(table?: Record<string, Record<string, readonly string[]>>): string[]
  }
  assert.equal(findDisorder(), [])
  const table = { runtime: { base: ['time'], time: ['base'] }, server: { results: ['none'] } }
  assert.equal(findDisorder(table), [
    'runtime/base: time is not above it',
    'server/results: none is not above it',
  ])
})

test('a name of a type that stands twice in a floor is named', (t) =>
  expectFindings(
    t,
    {
      'client/calls/a.ts': `export interface Call {}\nexport class Late {}\nexport interface Late {}\n`,
      'client/calls/b.ts': `type Call = 1\nexport const b: Call = 1\n`,
      'client/pool/c.ts': `export class Call {}\n`,
      'transports/link/d.ts': `export interface Call {}\n`,
    },
    [
      'client/calls/b.ts:1 type Call stands in client/calls/a.ts, too: one name, one type in a floor',
      'client/pool/c.ts:1 type Call stands in client/calls/a.ts, too: one name, one type in a floor',
    ],
  ))

test('CONTRIBUTING shows the table of rooms', async () => {
  const { rooms } = (await import(inRoot('scripts', 'house', 'rooms.mjs'))) as {
    rooms: Record<string, Record<string, readonly string[]>>
  }
  const rows = readFileSync(inRoot('.github', 'CONTRIBUTING.md'), 'utf8').matchAll(
    /^\| `([\w/-]+)` \| [^|]+ \| ([^|]+) \|$/gm,
  )
  const shown = [...rows].map(([, room, imports]) => `${room}: ${imports}`)
  const said = Object.entries(rooms).flatMap(([floor, rows]) =>
    Object.entries(rows).map(([room, allowed]) => `${floor}/${room}: ${allowed.join(', ') || '-'}`),
  )
  assert.equal(shown, said)
})

test('packages and node modules outside of their allowed folders are named', (t) =>
  expectFindings(
    t,
    {
      'protocol/a.ts': `import { readFileSync } from 'node:fs'\nimport Ajv from 'ajv/dist/2020.js'\nexport const a = [readFileSync, Ajv]\n`,
      'protocol/schema/check.ts': `import Ajv from 'ajv/dist/2020.js'\nexport const check = Ajv\n`,
      'server/b.ts': `import type { Logger } from 'pino'\nimport { connect } from 'node:net'\nexport type B = [Logger, typeof connect]\n`,
      'client/c.ts': `export const c = () => import('left-pad')\n`,
      'client/d.ts': `import { serve } from 'caduceus/server'\nexport const d = serve\n`,
    },
    [
      'protocol/a.ts:1 imports node:fs: protocol/ is pure',
      'protocol/a.ts:2 imports ajv outside of its home ^protocol\\/schema\\/check$',
      'server/b.ts:1 imports pino outside of its home ^runtime\\/faults\\/log$',
      'server/b.ts:2 imports node:net: I/O with the far side lives in transports/',
      'client/c.ts:1 imports left-pad, a package without a home (scripts/house/homes.mjs)',
      'client/d.ts:1 imports caduceus outside of its home ^command\\/',
    ],
  ))

test('a ring of imports is named once, and a ring through types is none', (t) =>
  expectFindings(
    t,
    {
      'runtime/a.ts': `import { b } from './b.js'\nexport const a = () => b\n`,
      'runtime/b.ts': `import { c } from './c.js'\nexport const b = () => c\n`,
      'runtime/c.ts': `import { a } from './a.js'\nexport const c = () => a\n`,
      'server/d.ts': `import { e } from './e.js'\nexport type D = typeof e\nexport const d = e\n`,
      'server/e.ts': `import type { D } from './d.js'\nexport const e = (value: D) => value\n`,
    },
    ['runtime/a.ts:1 import cycle: runtime/a.ts -> runtime/b.ts -> runtime/c.ts -> runtime/a.ts'],
  ))

test('a ring of type imports is named on ordered floors only', (t) =>
  expectFindings(
    t,
    {
      'runtime/a.ts': `import type { B } from './b.js'\nexport type A = B | 1\n`,
      'runtime/b.ts': `import type { A } from './a.js'\nexport type B = A | 2\n`,
      'protocol/a.ts': `import type { B } from './b.js'\nexport type A = B | 1\n`,
      'protocol/b.ts': `import type { A } from './a.js'\nexport type B = A | 2\n`,
    },
    ['runtime/a.ts:1 import cycle: runtime/a.ts -> runtime/b.ts -> runtime/a.ts'],
  ))

test('forbidden syntax is named by line, in code and not in strings', (t) =>
  expectFindings(
    t,
    {
      'runtime/a.ts': `export function a(x: any, y: string | undefined) {
  return [x as any, y!, 'as any', \`enum A\`] // export default any enum
}
export enum Kind { One }
export default a
export namespace Space { export const one = 1 }
let count = 0
const cache = new Map<string, number>()
const list: string[] = []
const known = new Map([['a', 1]])
export const all = () => [count++, cache, list, known]
await Promise.resolve()
export * from './b.js'
`,
      'runtime/b.ts': `export const b = async () => await Promise.resolve()\n`,
    },
    [
      'runtime/a.ts:1 any: say unknown and check, or infer',
      'runtime/a.ts:2 any: say unknown and check, or infer',
      'runtime/a.ts:2 non-null !: check the value, or shape the type so that it is there',
      'runtime/a.ts:4 enum: use a union of literals',
      'runtime/a.ts:5 export default: export by name',
      'runtime/a.ts:6 namespace: a file is the module',
      'runtime/a.ts:7 let at module level: keep state in an actor',
      'runtime/a.ts:8 empty collection at module level: it can only be there to be filled; keep state in an actor',
      'runtime/a.ts:9 empty collection at module level: it can only be there to be filled; keep state in an actor',
      'runtime/a.ts:12 top-level await: require() of the package would fail',
      'runtime/a.ts:13 export *: list the names',
    ],
  ))

test('a report of the API that the changelog does not name is told', async (t) => {
  const files = { 'index.ts': 'export {}\n', 'test/api/caduceus.md': '# caduceus\n' }
  const word = createHash('sha256').update('test/api/caduceus.md\n# caduceus\n').digest('hex').slice(0, 12)
  const text = `says nothing of the API as test/api/ has it: npm run api -- 'what changes for users'`
  const changelog = '# Changelog\n\n## Unreleased\n\n- a line\n\n## 1.0.0\n\n- a line'
  const older = { ...files, 'CHANGELOG.md': `${changelog} (API ${word})\n` }
  await expectFindings(t, older, [`CHANGELOG.md:1 ${text}`])
  const told = changelog.replace('a line', () => `a line (API ${word})`)
  await expectFindings(t, { ...files, 'CHANGELOG.md': `${told}\n` }, [])
})

test('a test that imports internals is named in the README of its room', (t) =>
  expectFindings(
    t,
    {
      'index.ts': `export { a } from './runtime/a.js'\n`,
      'runtime/index.ts': `export { a } from './a.js'\n`,
      'runtime/a.ts': 'export const a = 1\n',
      'test/runtime/by-door.test.ts': `import { a } from 'caduceus/runtime'\nimport { a as b } from '../../index.js'\nexport const all = [a, b]\n`,
      'test/runtime/deep/named.test.ts': `import { a } from '../../../runtime/a.js'\nexport const all = [a]\n`,
      'test/runtime/unnamed.test.ts': `\nimport type { a } from '../../runtime/a.js'\nexport type A = typeof a\n`,
      'test/runtime/README.md': `# Tests\n\n\`outside.ts\` is not on the list.\n\n## Behind the doors\n\n- a unit: \`deep/named.test.ts\`\n- \`by-door.test.ts\`, \`gone.test.ts\`\n\n## More\n\n\`other.ts\`\n`,
      'test/server/no-page.test.ts': `export const a = () => import('../../runtime/a.js')\n`,
    },
    [
      'test/runtime/unnamed.test.ts:2 imports runtime/a.ts: go through a door, or say why not in test/runtime/README.md',
      'test/server/no-page.test.ts:1 imports runtime/a.ts: go through a door, or say why not in test/server/README.md',
      'test/runtime/README.md:8 names test/runtime/by-door.test.ts, which imports no internals',
      'test/runtime/README.md:8 names test/runtime/gone.test.ts, which does not exist',
    ],
  ))

test('a name of a test that is 80 characters or longer is named', (t) => {
  const [fits, long] = ['a'.repeat(79), 'b'.repeat(80)]
  return expectFindings(
    t,
    {
      'test/a.test.ts': `test('${fits}', () => {})
test('${long}', () => {})
test.skip('${long}', 'why')
redisTest(test, \`${long}\`, () => {})
tell('${long}')
test(\`${fits}\${1 + 1}\`, () => {})
test(\`${long}\${1 + 1}\`, () => {})\n`,
      'runtime/a.ts': `export const a = (test: (name: string) => void) => test('${long}')\n`,
    },
    [2, 3, 4, 7].map((line) => `test/a.test.ts:${line} name of a test: 80 characters, at most 79`),
  )
})

test('junk names, notes for later and paths of a machine are named', (t) =>
  expectFindings(
    t,
    {
      'runtime/utils.ts': 'export {}\n',
      'server/helpers/a.ts': 'export {}\n',
      'server/SessionActor.ts': 'export {}\n',
      'client/note.ts': `// ${'TO'}${'DO'}: later\n// ${'@ts-'}${'ignore'}\nexport {}\n`,
      'README.md': `run it in ${['', 'root', 'project'].join('/')}, or in ./work/here\nsee https://example.com/root/x\n`,
    },
    [
      'runtime/utils.ts:1 utils is no room: name what the file is about',
      'server/helpers/a.ts:1 helpers is no room: name what the file is about',
      'server/helpers/a.ts:1 server/helpers/ is no room of the table in scripts/house/rooms.mjs',
      'server/SessionActor.ts:1 file names are kebab-case',
      `client/note.ts:1 ${'TO'}${'DO'} is no note for later: open an issue`,
      `client/note.ts:2 ${'@ts-'}${'ignore'} hides an error`,
      `README.md:1 path of one machine: ${['', 'root', ''].join('/')}`,
    ],
  ))

test('a docstring that another one follows is named', (t) => {
  const [one, two] = ['/** What it is. */', '/** What another one is. */']
  return expectFindings(
    t,
    {
      'runtime/a.ts': `${one}\n${two}\nexport const a = 1\n\n${one}\nexport const b = 1\n`,
      'server/b.ts': `/**\n * What\n * it is.\n */\n\n${two}\nexport const b = 1\n`,
    },
    [
      'runtime/a.ts:1 docstring of nothing: another one follows it',
      'server/b.ts:4 docstring of nothing: another one follows it',
    ],
  )
})

test('a folder argument reports the problems of that folder only', async (t) => {
  const files = { 'runtime/a.ts': 'export let a = 1\n', 'server/b.ts': 'export let b = 1\n' }
  const outcome = await check(t, files, '--only', 'house', 'server/')
  assert.is(outcome.code, 1)
  assert.match(outcome.output, /^check house: 1 problem$/m)
  assert.not.match(outcome.output, 'runtime/a.ts')
  assert.match(outcome.output, 'server/b.ts:1 let at module level')
})

test('a type error has file and line, and a stale type test is an error', async (t) => {
  const files = {
    'tsconfig.json': readFileSync(inRoot('tsconfig.json'), 'utf8'),
    'runtime/a.ts': `export const a: string[] = ['a']\nexport const b: string = a[0]\n`,
    'test/types/a.ts': `import { a } from '../../runtime/a.js'\n// @ts-expect-error: a holds texts\na.push('text')\n`,
  }
  const outcome = await check(t, files, '--only', 'types')
  assert.is(outcome.code, 1)
  assert.match(outcome.output, /^runtime\/a\.ts:2:14 error TS2322/m)
  assert.match(outcome.output, /^test\/types\/a\.ts:2:1 error TS2578/m)
  assert.match(outcome.output, 'check types: 2 problems')
})

test('lint and format problems are named, and --fix repairs what can be repaired', async (t) => {
  const files = {
    'runtime/a.ts': `import { B } from "./b.js";\nexport const a = (b: B): any => b\n`,
    'runtime/b.ts': 'export type B = 1\n',
    'runtime/warned.ts': `export const c = '$\{c}'\n`,
  }
  const outcome = await check(t, files, '--only', 'style')
  assert.not.match(outcome.output, 'runtime/warned.ts') // a warning fails nothing
  assert.match(outcome.output, 'runtime/a.ts:1:8 lint/style/useImportType')
  assert.match(outcome.output, 'runtime/a.ts:2:26 lint/suspicious/noExplicitAny')
  assert.match(outcome.output, 'runtime/a.ts format')
  const project = makeProject(t, files)
  await runNode(
    [inRoot('scripts', 'check.mjs'), '--root', project, '--fix', '--only', 'style'],
    project,
    t.signal,
  )
  const repaired = readFileSync(join(project, 'runtime', 'a.ts'), 'utf8')
  assert.is(repaired, `import type { B } from './b.js'\nexport const a = (b: B): any => b\n`)
})

test('an unknown part is refused', async (t) => {
  const outcome = await check(t, {}, '--only', 'houses')
  assert.is(outcome.code, 2)
  assert.match(outcome.output, '--only: expected some of house, types, style, got houses')
})

test.run()
