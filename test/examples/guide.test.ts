// second tier: time
// time limit: 180 s
import { readdirSync, readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { inRoot, root } from '../support/root.js'
import { suite } from '../support/suite.js'

interface Quoted {
  readonly program: string
  readonly prints: boolean
  readonly said: string | undefined
}
const { printed, quotedPrograms } = (await import(inRoot('scripts', 'house', 'quotes.mjs'))) as {
  printed(root: string, program: string, signal: AbortSignal): Promise<string>
  quotedPrograms(text: string): Quoted[]
}
const test = suite('the guide', { timeout: 60_000 })

const floors = ['runtime', 'protocol', 'transports', 'server', 'client']
const pages = floors.flatMap((floor) =>
  readdirSync(inRoot(floor, 'guide'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${floor}/guide/${name}`),
)
const programs = listPrograms('test/examples')

for (const page of pages)
  test(`${page}: its programs print what it says`, async (t) => {
    for (const { program, prints, said } of quotedPrograms(read(page)))
      if (prints) assert.is(await printed(root, program, t.signal), said ?? '', `${page}: ${program}`)
  })

test('every program of the guide is quoted by a page', () => {
  const shown = pages.flatMap((page) => quotedPrograms(read(page)).map(({ program }) => program))
  const lost = programs.filter((path) => path.startsWith('test/examples/guide/') && !shown.includes(path))
  assert.equal(lost, [])
})

test('every exported value is used in a program of the guide', async () => {
  const doors = ['index', ...floors.map((floor) => `${floor}/index`), 'testing', 'otel', 'openapi']
  const text = programs.map(read).join('\n')
  const missing = await Promise.all(
    doors.map(async (door) => {
      const exported: object = await import(inRoot('.t', `${door}.js`))
      const unseen = Object.keys(exported).filter((name) => !new RegExp(`\\b${name}\\b`).test(text))
      return unseen.map((name) => `${door}: ${name}`)
    }),
  )
  assert.equal(missing.flat(), [])
})

test.run()

function listPrograms(folder: string): string[] {
  return (readdirSync(inRoot(folder), { recursive: true }) as string[])
    .filter((path) => /\.(?:ts|mjs)$/.test(path) && !path.endsWith('.test.ts'))
    .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
}

function read(path: string): string {
  return readFileSync(inRoot(path), 'utf8')
}
