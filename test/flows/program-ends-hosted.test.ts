// second tier: time
// time limit: 300 s
import { pathToFileURL } from 'node:url'
import * as assert from 'uvu/assert'
import { suite, type TestContext } from '../support/suite.js'
import { twoCopies } from './_copies.js'
import {
  boom,
  childrenGone,
  client,
  door,
  type End,
  later,
  newClient,
  runNode,
  stack,
  tellChild,
  writeFiles,
} from './_programs.js'

const test = suite('programs that others run', { timeout: 60_000 })
const loading = `const { startClient, stdio } = await import(${JSON.stringify(door)}); 'loa' + 'ded'`
const starting = `const client = ${newClient()}; ${tellChild}`

/** A line for a prompt, and what the prompt says when it is done with it. */
type Line = readonly [text: string, answer: RegExp]
const mistakes: readonly Line[] = [
  [boom, /Uncaught Error: boom\n> $/],
  [later(`throw new Error('late')`).trim(), /Uncaught Error: late\n(?: {4}at .*\n)*> $/],
  [`Promise.reject(new Error('rejected'))`, /Uncaught Error: rejected\n(?: {4}at .*\n)+> $/],
  [later('throw undefined').trim(), /Uncaught undefined\n> $/],
]

test('node prompt: errors of typed lines show once, and client and prompt survive', async (t) => {
  const end = await prompt(
    t,
    ['-i'],
    [
      [loading, /'loaded'\n> $/],
      [starting, /child \d+\nundefined\n> $/],
      ...mistakes,
      [tellChild, /child \d+\nundefined\n> $/],
      [`await client.close(); 'clo' + 'sed'`, /'closed'\n> $/],
    ],
  )
  sameChild(end)
  await childrenGone(t, end)
})

test('the node prompt ends with its input and closes its client', async (t) => {
  const end = await prompt(
    t,
    ['-i'],
    [
      [loading, /'loaded'\n> $/],
      [starting, /child \d+\nundefined\n> $/],
    ],
  )
  await childrenGone(t, end)
})

for (const when of ['before', 'by a line of'] as const)
  test(`a prompt with a client started ${when} it survives errors of typed lines`, async (t) => {
    const program = `
      import repl from 'node:repl'
      import { startClient, stdio } from ${JSON.stringify(door)}
      globalThis.start = () => ${newClient()}
      ${when === 'before' ? 'globalThis.client = start()' : ''}
      repl.start({ terminal: false }).on('exit', () => process.exit())`
    const calling = `client.callTool('pid').then(({ text }) => console.log('child', text)); 0`
    const end = await prompt(
      t,
      [writeFiles(t, { 'main.mjs': program })['main.mjs']],
      [[`globalThis.client ??= start(); ${calling}`, /child \d+\n$/], ...mistakes, [calling, /child \d+\n$/]],
    )
    sameChild(end)
    await childrenGone(t, end)
  })

/** Runs a prompt that is given one line after the other, each when the last was answered. */
async function prompt(t: TestContext, args: readonly string[], lines: readonly Line[]): Promise<End> {
  const left = [...lines]
  let answer = /> $/
  let heard = 0
  const end = await runNode(t, args, (stdout, input) => {
    if (!answer.test(stdout.slice(heard))) return
    const next = left.shift()
    if (next === undefined) return void input.end()
    heard = stdout.length
    answer = next[1]
    input.write(`${next[0]}\n`)
  })
  assert.is(end.code, 0, `${end.stdout}\n${end.stderr}`)
  assert.is(end.stderr, '')
  return end
}

function sameChild({ stdout }: End): void {
  const [first, second] = [...stdout.matchAll(/\bchild (\d+)$/gm)].map(([, pid]) => pid)
  assert.ok(first !== undefined && first === second, stdout)
}

const runner = (body: string): string => `
  import test from 'node:test'
  test('with a client', async (t) => {
    ${client()}
    t.after(() => client.close())
    ${body}
  })`

const testRuns: Readonly<
  Record<string, { readonly body: string; readonly code: number; readonly out: RegExp }>
> = {
  'a test that passes': { body: '', code: 0, out: /pass 1\n/ },
  'a test that fails': { body: boom, code: 1, out: /fail 1\n/ },
  'a throw of nobody in a test': {
    body: `${later(boom)} await new Promise((resolve) => setTimeout(resolve, 100))`,
    code: 1,
    out: /fail 1\n/,
  },
}

for (const [name, { body, code, out }] of Object.entries(testRuns))
  test(`node --test, ${name}: exit code ${code}`, async (t) => {
    const file = writeFiles(t, { 'client.test.mjs': runner(body) })['client.test.mjs']
    const end = await runNode(t, ['--test', file])
    assert.is(end.code, code, `${end.stdout}\n${end.stderr}`)
    assert.match(end.stdout, out)
    if (code !== 0) assert.match(end.stdout, /boom/)
    await childrenGone(t, end)
  })

const globalClient = `${client()} globalThis.client = client\n`
const imports: Readonly<
  Record<string, { readonly first?: string; readonly main: string; readonly code: number }>
> = {
  'a main module that uses its client': { main: `${tellChild}; await client.close()`, code: 0 },
  'a main module that fails': { main: boom, code: 1 },
  'a throw of nobody': { main: later(boom), code: 1 },
  'an error of the imported module itself': { first: boom, main: '', code: 1 },
}

for (const [name, { first = '', main, code }] of Object.entries(imports))
  test(`node --import starts a client, ${name}: exit code ${code}`, async (t) => {
    const files = writeFiles(t, { 'first.mjs': globalClient + first, 'main.mjs': main })
    const end = await runNode(t, ['--import', pathToFileURL(files['first.mjs']).href, files['main.mjs']])
    assert.is(end.code, code, `${end.stdout}\n${end.stderr}`)
    if (code === 0) assert.is(end.stderr, '')
    else assertToldOnce(end)
    await childrenGone(t, end)
  })

const clientsOfBoth = (body: string): string => `
  const copies = [await import('./one/index.js'), await import('./two/index.js')]
  if (copies[0].startClient === copies[1].startClient) throw new Error('one copy only')
  const clients = copies.map(({ startClient, stdio }) => ${newClient()})
  for (const client of clients) ${tellChild}
  ${body}`

test('two library copies with a client each: an unowned throw ends the program once', async (t) => {
  const end = await runNode(t, [twoCopies(t, clientsOfBoth(later(boom)))])
  assert.is(end.code, 1, end.stdout)
  assertToldOnce(end)
  assert.is([...end.stdout.matchAll(/^child \d+$/gm)].length, 2)
  await childrenGone(t, end)
})

test('two library copies: after one ends its client, the other still answers', async (t) => {
  const body = `await clients[0].close()
    process.on('exit', (code) => console.log('code', code, process.listenerCount('uncaughtException')))
    ${later(boom)}`
  const end = await runNode(t, [twoCopies(t, clientsOfBoth(body))])
  assert.is(end.code, 1, end.stdout)
  assertToldOnce(end)
  await childrenGone(t, end)
})

test('two library copies, one with a tree: the tree keeps the program alive', async (t) => {
  const body = `
    const tree = await copies[1].startServer(copies[1].defineServer({ name: 's', version: '1', tools: [] }), { transport: copies[1].serveHttp(), logger: false })
    await clients[1].close()
    setTimeout(async () => {
      for (const client of clients.slice(0, 1)) ${tellChild}
      await clients[0].close()
      await tree.stop()
    }, 50)
    ${later(boom)}`
  const end = await runNode(t, [twoCopies(t, clientsOfBoth(body))])
  assert.is(end.code, 0, end.stderr)
  assert.match(end.stderr, /boom/)
  await childrenGone(t, end)
})

function assertToldOnce({ stderr }: End): void {
  assert.match(stderr, stack)
  assert.is(stderr.split('Error: boom').length, 2, stderr)
}

test.run()
