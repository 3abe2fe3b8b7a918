// second tier: package, time
// time limit: 120 s
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { declarationOf, typeName } from '../../command/commands/type-text.js'
import { packOnce } from '../support/packed.js'
import { run } from '../support/project.js'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'
import { caduceus, newHome, overStdio } from './_caduceus.js'

const test = suite('caduceus types', { timeout: 90_000 })

/** What the compiler says of a program that imports the types from `./server.js`. */
async function compile(t: TestContext, home: string, program: string): Promise<string> {
  writeFileSync(join(home, 'program.ts'), program)
  const compilerOptions = {
    ...{
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipLibCheck: true,
      module: 'nodenext',
      target: 'es2023',
    },
    ...{
      types: ['node'],
      typeRoots: [inRoot('node_modules', '@types')],
      lib: ['es2023', 'esnext.disposable'],
    },
  }
  writeFileSync(join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['program.ts'] }))
  writeFileSync(join(home, 'package.json'), '{ "type": "module" }')
  const { folder } = await packOnce(t.signal)
  const place = join(home, 'node_modules', 'caduceus')
  mkdirSync(join(home, 'node_modules'), { recursive: true })
  if (!existsSync(place)) symlinkSync(join(folder, 'node_modules', 'caduceus'), place)
  const { output } = await run(
    process.execPath,
    [inRoot('node_modules', 'typescript', 'bin', 'tsc'), '-p', home],
    home,
    t.signal,
  )
  return output
}

const clientOf = (type: string, call: string): string => `
import { http, startClient } from 'caduceus'
import type { ${type} } from './server.js'
const client = startClient<${type}>({ transport: http('http://127.0.0.1:1/mcp') })
${call}
`

test('server types are the types of its client: wrong arguments do not compile', async (t) => {
  const home = newHome(t)
  const { code, out, err } = await caduceus(t, ['types', '--output', 'server.ts', ...overStdio], { home })
  assert.is(code, 0, err)
  assert.is(out, '')
  const text = readFileSync(join(home, 'server.ts'), 'utf8')
  const name = /export interface (\w+)/.exec(text)?.[1] ?? ''
  assert.match(text, '/** Adds two numbers. */')
  const right = 'export const sum = await client.tools.add({ a: 1, b: 2 })'
  assert.is(await compile(t, home, clientOf(name, right)), '')
  assert.match(
    await compile(t, home, clientOf(name, "await client.tools.add({ a: 'one', b: 2 })")),
    /TS2322.*string/,
  )
  assert.match(await compile(t, home, clientOf(name, 'await client.tools.subtract({})')), 'TS2339')
})

test('typed clients can be generated for foreign servers, too', async (t) => {
  const home = newHome(t)
  symlinkSync(inRoot('node_modules'), join(home, 'servers'))
  const file = join('servers', '@modelcontextprotocol', 'server-filesystem', 'dist', 'index.js')
  const { code, out, err } = await caduceus(t, ['types', '--', process.execPath, file, home], { home })
  assert.is(code, 0, err)
  writeFileSync(join(home, 'server.ts'), out)
  const name = /export interface (\w+)/.exec(out)?.[1] ?? ''
  const call = `
const read = await client.tools.read_text_file({ path: 'a.txt', head: 3 })
const content: string | undefined = read.structuredContent?.content
console.log(content)`
  assert.is(await compile(t, home, clientOf(name, call)), '')
})

test('schemas become types, and unsupported ones become unknown', () => {
  const type = (inputSchema: object): string => {
    const text = declarationOf('s', [{ name: 'x', inputSchema }])
    return (/input: ([\s\S]*?)\n {6}readonly output/.exec(text)?.[1] ?? '').replaceAll(/\s+/g, ' ')
  }
  const property = (schema: unknown): string =>
    type({ type: 'object', properties: { a: schema }, required: ['a'] })
  const table = [
    [{ enum: ['x', 1, null] }, '"x" | 1 | null'],
    [{ const: 'x' }, '"x"'],
    [{ type: ['string', 'null'] }, 'string | null'],
    [{ type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'integer' }] } }, '(string | number)[]'],
    [{ type: 'array', prefixItems: [{ type: 'string' }], items: false }, '[string]'],
    [{ type: 'object', additionalProperties: { type: 'boolean' } }, 'Record<string, boolean>'],
    [{ type: 'object', additionalProperties: false }, 'Record<string, never>'],
    [{ allOf: [{ type: 'string' }, { type: 'string' }] }, 'string & string'],
    [{ $ref: '#/properties/a' }, 'unknown'],
    [{ $ref: 'https://example.com/other' }, 'unknown'],
    [{ type: 'fraction' }, 'unknown'],
    [true, 'unknown'],
    [false, 'never'],
  ] as const
  for (const [schema, expected] of table) assert.is(property(schema), `{ a: ${expected} }`)
  assert.is(type({ type: 'object' }), 'Record<string, unknown>')
  const tree = { type: 'object', properties: { next: { $ref: '#' } } }
  assert.is(type(tree), '{ next?: { next?: unknown } }')
  const defs = Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => [
      `d${i}`,
      { type: 'object', properties: { l: { $ref: `#/$defs/d${i + 1}` }, r: { $ref: `#/$defs/d${i + 1}` } } },
    ]),
  )
  assert.ok(
    type({ $ref: '#/$defs/d0', $defs: defs }).length < 1_000_000,
    'references that multiply are bounded',
  )
})

test('foreign names and descriptions stay inside strings and comments', async (t) => {
  const home = newHome(t)
  const evil = '*/ }; process.exit(7); /* \' " \\ ` ${1} \u2028 \u0007 \u202e \u2066 \r'
  const text = declarationOf('9 lives; evil', [
    {
      name: `${evil} name`,
      description: `${evil}\n*/ evil()`,
      inputSchema: {
        type: 'object',
        properties: { [evil]: { type: 'string', description: evil, enum: [evil] } },
      },
    },
  ])
  assert.is(typeName('9 lives; evil'), 'Server9LivesEvil')
  writeFileSync(join(home, 'server.ts'), text)
  const program = `import type { Server9LivesEvil } from './server.js'\nexport type All = keyof Server9LivesEvil\nexport const one: All = 'tools'\n`
  assert.is(await compile(t, home, program), '')
  for (const one of ['\u2028', '\u0007', '\u202e', '\u2066', '\r']) assert.not(text.includes(one))
})

test.run()
