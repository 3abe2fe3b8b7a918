// second tier: time
// time limit: 300 s
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { suite } from '../support/suite.js'
import { boom, childrenGone, client, door, later, runNode, stack, writeFiles } from './_programs.js'

const test = suite('the end of a program', { timeout: 40_000 })
const runtime = import.meta.resolve('caduceus/runtime')

const serving = (options = ''): string => `
  const { defineServer, serveHttp, startServer } = await import(${JSON.stringify(door)})
  const server = await startServer(defineServer({ name: 's', version: '1', tools: [] }), { transport: serveHttp(), logger: false, ${options} })
`
const bare = (options = ''): string => `
  const { startSupervisor } = await import(${JSON.stringify(runtime)})
  const tree = await startSupervisor({ strategy: 'one_for_one', logger: false, ${options} })
`
const goesOn = later(`setTimeout(() => { console.log('goes on'); process.exit() }, 50)`)
const rejection = `Promise.reject(new Error('boom'))`

interface Case {
  readonly program: string
  /** The exit code. */
  readonly code: number
  /** Standard error. */
  readonly told?: RegExp
  readonly silent?: true
  readonly out?: RegExp
  readonly flags?: readonly string[]
  readonly commonJs?: true
}

const cases: Readonly<Record<string, Case>> = {
  'a main module that fails, with a client': { program: client() + boom, code: 1, told: stack },
  'a main module that fails, with a server': { program: serving() + boom, code: 1, told: stack },
  'a main module that fails, with a tree': { program: bare() + boom, code: 1, told: stack },
  'a call of the main module that fails': {
    program: `${client()} await client.request('no/such/method')`,
    code: 1,
    told: /^\n?ClientError|Method not found/,
  },
  'a main module that fails, with a client that cannot begin': {
    program: `const { startClient, stdio } = await import(${JSON.stringify(door)})
      const client = startClient({ transport: stdio({ command: 'no-such-command' }), logger: false })
      await client.callTool('x')`,
    code: 1,
    told: /command not found: no-such-command/,
  },
  'a start of a server that fails, and that nobody awaits': {
    program: `const { startServer } = await import(${JSON.stringify(door)})
      startServer({}, { transport: 'http' })`,
    code: 1,
    told: /expected what defineServer returns/,
  },
  'a start at a port that is taken, and that nobody awaits': {
    program: `const { defineServer, serveHttp, startServer } = await import(${JSON.stringify(door)})
      const { createServer } = await import('node:net')
      const taken = createServer().listen(0, '127.0.0.1', () => {
        startServer(defineServer({ name: 's', version: '1', tools: [] }), {
          transport: serveHttp({ port: taken.address().port }), logger: false,
        })
      })`,
    code: 1,
    told: /EADDRINUSE|LISTEN_FAILED/,
  },
  'a start of clients that fails, and that nobody awaits': {
    program: `const { startClients } = await import(${JSON.stringify(door)})
      startClients({ a: { comand: 'x' } })`,
    code: 1,
    told: /mcpServers\.a: expected a command/,
  },
  'a main module that fails in a tree that is to report': {
    program: `${bare(`unowned: 'report'`)} ${goesOn} ${boom}`,
    code: 0,
    out: /goes on/,
  },
  'a main module that fails, and a host that listens': {
    program: `${client()} ${goesOn} process.on('uncaughtException', ({ message }) => console.log('host', message)); ${boom}`,
    code: 0,
    out: /host boom[\s\S]*goes on/,
    silent: true,
  },
  'a main module of CommonJS that fails': {
    program: `const { startClient, http } = require(${JSON.stringify(fileURLToPath(door))})
      startClient({ transport: http('http://127.0.0.1:9/mcp'), logger: false }); ${boom}`,
    code: 1,
    told: stack,
    commonJs: true,
  },
  'a main module of CommonJS that fails, with a tree': {
    program: `const { startSupervisor } = require(${JSON.stringify(fileURLToPath(runtime))})
      startSupervisor({ strategy: 'one_for_one', logger: false }); ${boom}`,
    code: 1,
    told: stack,
    commonJs: true,
  },
  'a throw of nobody, with a client': { program: client() + later(boom), code: 1, told: stack },
  'a rejection of nobody, with a client': { program: client() + later(rejection), code: 1, told: stack },
  'a throw of undefined, with a client': {
    program: client() + later('throw undefined'),
    code: 1,
    told: /^\n?Uncaught:\nundefined/,
  },
  'a throw of nobody, with a client and an exit code': {
    program: `process.exitCode = 5; ${client()} ${later(boom)}`,
    code: 1,
    told: stack,
  },
  'a throw of nobody, with a client that is to report': {
    program: `${client(`unowned: 'report'`)} ${goesOn} ${later(boom)}`,
    code: 0,
    out: /goes on/,
    told: /boom/,
  },
  'a throw of nobody, with a client and a host that listens': {
    program: `${client()} ${goesOn} process.on('uncaughtException', ({ message }) => console.log('host', message)); ${later(boom)}`,
    code: 0,
    out: /host boom[\s\S]*goes on/,
    silent: true,
  },
  'a throw of nobody, with a client and a host that listens once': {
    program: `process.once('uncaughtException', ({ message }) => console.log('host', message)); ${client()} ${goesOn} ${later(boom)}`,
    code: 0,
    out: /host boom[\s\S]*goes on/,
    silent: true,
  },
  'a rejection of nobody, with a client and a host that listens for throws': {
    program: `${client()} ${goesOn} process.on('uncaughtException', ({ message }, origin) => console.log('host', message, origin)); ${later(rejection)}`,
    code: 0,
    out: /host boom unhandledRejection[\s\S]*goes on/,
    silent: true,
  },
  'a rejection of nobody, with a client, where Node goes on': {
    program: `${client()} ${goesOn} ${later(rejection)}`,
    code: 0,
    out: /goes on/,
    told: /boom/,
    flags: ['--unhandled-rejections=warn'],
  },
  'a rejection of nobody, with a client, where Node is strict': {
    program: `${client()} ${later(rejection)}`,
    code: 1,
    told: stack,
    flags: ['--unhandled-rejections=strict'],
  },
  'a main module that fails, where Node goes on': {
    program: client() + boom,
    code: 1,
    told: stack,
    flags: ['--unhandled-rejections=none'],
  },
  'a throw of nobody, with a server': {
    program: `${serving()} ${goesOn} ${later(boom)}`,
    code: 0,
    out: /goes on/,
    told: /boom/,
  },
  'a throw of nobody, with a client and a server': {
    program: `${client()} ${serving()} ${goesOn} ${later(boom)}`,
    code: 0,
    out: /goes on/,
    told: /boom/,
  },
  'a throw of nobody, with a server that has stopped': {
    program: `${client()} ${serving()} await server.stop(); ${later(later(boom))}`,
    code: 1,
    told: stack,
  },
  "a throw of nobody, with a server of unowned: 'stop'": {
    program: `${serving(`unowned: 'stop'`)} ${later(boom)}`,
    code: 1,
    told: stack,
  },
  "a rejected main module, with a client of unowned: 'stop'": {
    program: `${client(`unowned: 'stop'`)} ${boom}`,
    code: 1,
    told: stack,
  },
  'a throw of nobody, with a tree': {
    program: `${bare()} ${goesOn} ${later(boom)}`,
    code: 0,
    out: /goes on/,
    told: /boom/,
  },
  'a second throw while the trees are stopped': {
    program: `${client()} ${later(`setImmediate(() => { throw new Error('second') }); ${boom}`)}`,
    code: 1,
    told: /^\n?Error: boom/,
  },
  'a throw of nobody, with a tree that takes its time to stop': {
    program: `
      const { childSpec, defineActor } = await import(${JSON.stringify(runtime)})
      const slow = defineActor({ name: 'slow', trapExit: true, init: () => 0, terminate: () => new Promise((resolve) => setTimeout(resolve, 50)).then(() => console.log('stopped')) })
      ${bare(`unowned: 'exit', children: [childSpec(slow)]`)} ${later(boom)}`,
    code: 1,
    told: stack,
    out: /^stopped\n$/,
  },
  'a stop that hangs': {
    program: `
      const { childSpec, defineActor } = await import(${JSON.stringify(runtime)})
      const hanging = defineActor({ name: 'hanging', trapExit: true, init: () => 0, terminate: () => new Promise(() => {}) })
      ${bare(`unowned: 'exit', children: [childSpec(hanging, undefined, { shutdown: 'infinity' })]`)} ${later(boom)}`,
    code: 1,
    told: stack,
  },
  'a throw as the program exits': {
    program: `${client()} process.on('exit', () => { ${boom} }); await client.close()`,
    code: 1,
    told: /Error: boom/,
  },
  'process.exit() with a client': { program: `${client()} process.exit(3)`, code: 3, silent: true },
  'a client that is closed': { program: `${client()} await client.close()`, code: 0, silent: true },
  'a main module that fails when its client has ended': {
    program: `${client()} await client.close(); ${boom}`,
    code: 1,
    told: /Error: boom/,
  },
  'a throw of nobody, with a client and node:domain': {
    program: `import 'node:domain'; ${client()} ${later(boom)}`,
    code: 1,
    told: stack,
  },
  'a rejection of nobody, with a client and node:domain': {
    program: `import 'node:domain'; ${client()} ${later(rejection)}`,
    code: 1,
    told: stack,
  },
  'a worker that fails, with a client': {
    program: `
      import { Worker } from 'node:worker_threads'
      const worker = new Worker(new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(`${client()} ${later(boom)}`)})))
      worker.on('error', ({ message }) => console.log('worker', message)).on('exit', (code) => console.log('code', code))`,
    code: 0,
    out: /worker boom\ncode 1/,
    silent: true,
  },
}

for (const [name, { program, code, told, silent, out, flags = [], commonJs }] of Object.entries(cases)) {
  test(`${name}: exit code ${code}`, async (t) => {
    const file = commonJs === true ? 'main.cjs' : 'main.mjs'
    const end = await runNode(t, [...flags, writeFiles(t, { [file]: program })[file] ?? ''])
    assert.is(end.code, code, `${end.stdout}\n${end.stderr}`)
    if (told !== undefined) assert.match(end.stderr, told)
    if (silent) assert.is(end.stderr, '')
    if (out !== undefined) assert.match(end.stdout, out)
    await childrenGone(t, end)
  })
}

test.run()
