// second tier: package
// time limit: 120 s
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { build, type BuildOptions, type Metafile, stop } from 'esbuild'
import * as assert from 'uvu/assert'
import { linkDevelopmentPackage, packOnce, runAndListPackages, writeConsumerFile } from '../support/packed.js'
import { run, runNode } from '../support/project.js'
import { inRoot } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('packed package', { timeout: 60_000 })
const doors = [
  'caduceus',
  ...['runtime', 'protocol', 'transports', 'server', 'client', 'testing', 'otel', 'openapi', 'fetch'].map(
    (door) => `caduceus/${door}`,
  ),
]
const programs = ['server', 'one-off', 'long-running', 'testing']
const sampleServer = `import { defineServer, defineTool, field, serveStdio, startServer } from 'caduceus'
const input = { a: field.number(), b: field.number() }
const add = defineTool({ name: 'add', input, run: ({ a, b }) => String(a + b) })
await startServer(defineServer({ name: 'sample', version: '1.0.0', tools: [add] }), { transport: serveStdio() })
`
const lazyPackages = ['undici', 'ws', 'ajv', 'jose', 'pino', 'thread-stream']

const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'small', version: '1' } },
})

/** Programs with what each needs at most, in KiB: to be lowered when it is less, and raised for a reason alone. */
const smallPrograms: Record<string, { most: number; text: string; input?: string }> = {
  stdioServer: { most: 752, text: sampleServer, input: `${initialize}\n` },
  stdioServerByDoors: {
    most: 558,
    text: `import { defineServer, defineTool, startServer } from 'caduceus/server'
import { serveStdio } from 'caduceus/transports'
const tools = [defineTool({ name: 'hello', run: () => 'hello' })]
await startServer(defineServer({ name: 'small', version: '1', tools }), { transport: serveStdio() })
`,
    input: `${initialize}\n`,
  },
  httpServer: {
    most: 812,
    text: `import { defineServer, defineTool, serveHttp, startServer } from 'caduceus'
const tools = [defineTool({ name: 'hello', run: () => 'hello' })]
const server = await startServer(defineServer({ name: 'small', version: '1', tools }), { transport: serveHttp({ port: 0 }) })
const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const { status } = await fetch(server.url, { method: 'POST', headers, body: ${JSON.stringify(initialize)} })
if (status !== 200) throw new Error(status)
await server.stop()
`,
  },
  httpClient: {
    most: 780,
    text: `import { createServer } from 'node:http'
import { http, withClient } from 'caduceus'
const serverInfo = { name: 'raw', version: '1' }
const server = createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  const { id, params } = text === '' ? {} : JSON.parse(text)
  if (id === undefined) return response.writeHead(text === '' ? 405 : 202).end()
  const { protocolVersion } = params ?? {}
  const result = protocolVersion ? { protocolVersion, capabilities: {}, serverInfo } : {}
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }))
}).listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const transport = http('http://127.0.0.1:' + server.address().port + '/mcp')
await withClient({ transport }, (client) => client.ping())
server.closeAllConnections()
server.close()
`,
  },
}
/** KiB of the sample server in one file with all its packages, minified. */
const mostBundled = 884
/**
 * KiB of a server of three tools for a Worker, minified; one of them is for `signIn()`, which it may be
 * given.
 */
const mostForFetch = 424

/** With what `caduceus/otel` stands on, which its users install. */
async function packWithPeer(signal: AbortSignal) {
  const packed = await packOnce(signal)
  linkDevelopmentPackage(packed, '@opentelemetry/api')
  return packed
}

test('the tarball holds bundles, declarations and papers only', async (t) => {
  const { files } = await packOnce(t.signal)
  const expected = [
    /^(?:package\.json|README\.md|LICENSE)$/,
    /^dist\/mcp\.schema\.json$/,
    /^dist\/(?:index|testing|otel|openapi|fetch|(?:runtime|protocol|transports|server|client)\/[\w./-]+)\.js$/,
    /^dist\/(?:index|testing|otel|openapi|fetch|(?:runtime|protocol|transports|server|client)\/index)\.d\.ts$/,
    /^dist\/command\/[\w.-]+\.js$/,
    /^dist\/chunks\/[\w.-]+\.js$/,
    /^dist\/chunks\/(?:runtime|protocol|transports|server|client)\.d\.ts$/,
  ]
  assert.equal(
    files.filter((path) => !expected.some((pattern) => pattern.test(path))),
    [],
  )
  for (const name of ['README.md', 'LICENSE', 'dist/mcp.schema.json']) assert.ok(files.includes(name), name)
})

test('the tarball is smaller than 748 kB', async (t) => {
  const { size } = statSync((await packOnce(t.signal)).tarball)
  assert.ok(size > 100_000 && size < 748_000, `${size} bytes`)
})

test('every entry point declares exactly its promised names', async (t) => {
  const { folder } = await packOnce(t.signal)
  const promised = JSON.parse(readFileSync(inRoot('test', 'packaging', 'names.json'), 'utf8')) as Record<
    string,
    readonly string[]
  >
  assert.equal(Object.keys(promised), doors)
  for (const door of doors) {
    const file =
      door === 'caduceus'
        ? 'index.d.ts'
        : ['caduceus/testing', 'caduceus/otel', 'caduceus/openapi', 'caduceus/fetch'].includes(door)
          ? `${door.slice(9)}.d.ts`
          : `${door.slice(9)}/index.d.ts`
    const text = readFileSync(join(folder, 'node_modules', 'caduceus', 'dist', file), 'utf8')
    assert.equal(declaredIn(text), promised[door], door)
  }
})

test('every target of exports is in the tarball', async (t) => {
  const { folder } = await packOnce(t.signal)
  const installed = join(folder, 'node_modules', 'caduceus')
  const { exports } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  const targets = Object.values<string | Record<string, string>>(exports).flatMap((target) =>
    typeof target === 'string' ? [target] : Object.values(target),
  )
  assert.is(targets.length, 2 * doors.length + 1)
  assert.equal(
    targets.filter((target) => !existsSync(join(installed, target))),
    [],
  )
})

test('the bin runs, and starts in less than twice the time of bare Node', async (t) => {
  const packed = await packOnce(t.signal)
  const { folder } = packed
  const bin = join(folder, 'node_modules', '.bin', 'caduceus')
  const { version } = JSON.parse(readFileSync(inRoot('package.json'), 'utf8'))
  assert.equal(await run(bin, ['--version'], folder, t.signal), { code: 0, output: `${version}\n` })
  const sample = writeConsumerFile(packed, 'sample.mjs', sampleServer)
  const called = await run(bin, ['call', 'add', 'a=1', 'b=2', '--', 'node', sample], folder, t.signal)
  assert.equal(called, { code: 0, output: '3\n' })
  const empty = writeConsumerFile(packed, 'empty.mjs', '')
  const time = async (args: readonly string[]): Promise<number> => {
    const begin = performance.now()
    await runNode(args, folder, t.signal)
    return performance.now() - begin
  }
  const [bare, ours]: [number[], number[]] = [[], []]
  // by turns, and the fastest of each: what else the machine does is nobody's start
  for (let round = 0; round < 8; round++) {
    bare.push(await time([empty]))
    ours.push(await time([bin, '--version']))
  }
  const ratio = Math.min(...ours) / Math.min(...bare)
  assert.ok(ratio < 2, `${ratio.toFixed(2)} times bare Node`)
})

test('the bin holds no copy of the library', async (t) => {
  const { folder } = await packOnce(t.signal)
  const commands = join(folder, 'node_modules', 'caduceus', 'dist', 'command')
  const sizes = readdirSync(commands, { recursive: true, encoding: 'utf8' }).flatMap((path) =>
    path.endsWith('.js') ? [statSync(join(commands, path)).size] : [],
  )
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  assert.ok(bytes > 10_000 && bytes < 225_000, `${bytes} bytes`)
})

test('every door can be imported and required, and both ways give the same names', async (t) => {
  const packed = await packWithPeer(t.signal)
  const list = JSON.stringify(doors)
  const shown =
    'console.log(JSON.stringify(doors.map((door, index) => [door, Object.keys(modules[index]).filter((name) => name !== "module.exports").sort()])))'
  const imported = `const doors = ${list}\nconst modules = await Promise.all(doors.map((door) => import(door)))\n${shown}\n`
  const required = `const doors = ${list}\nconst modules = doors.map((door) => require(door))\n${shown}\n`
  const byImport = await runNode([writeConsumerFile(packed, 'import.mjs', imported)], packed.folder, t.signal)
  const byRequire = await runNode(
    [writeConsumerFile(packed, 'require.cjs', required)],
    packed.folder,
    t.signal,
  )
  assert.is(byImport.code, 0, byImport.output)
  assert.is(byRequire.output, byImport.output)
  for (const [door, names] of JSON.parse(byImport.output))
    assert.ok(names.length > 0, `${door} exports nothing`)
})

test('exported classes keep their names', async (t) => {
  const packed = await packWithPeer(t.signal)
  const program = `const modules = await Promise.all(${JSON.stringify(doors)}.map((door) => import(door)))
const wrong = modules.flatMap((module) => Object.entries(module)).filter(([name, value]) => /^class /.test(String(value)) && value.name !== name)
console.log(wrong.map(([name, value]) => name + ' is ' + value.name).join())
`
  const { code, output } = await runNode(
    [writeConsumerFile(packed, 'classes.mjs', program)],
    packed.folder,
    t.signal,
  )
  assert.equal([code, output.trim()], [0, ''])
})

test('threads and processes of peers, and the watchdog, start from the package', async (t) => {
  const packed = await packOnce(t.signal)
  const module = `import { defineActor } from 'caduceus/runtime'
export default defineActor({ name: 'far', init: () => ({}), call: { add: (_state, [a, b]) => a + b } })
`
  const far = JSON.stringify(writeConsumerFile(packed, 'far.mjs', module))
  const program = `import { definePeer, startActor, subscribe, defineActor } from 'caduceus/runtime'
for (const kind of ['thread', 'process']) {
  const peer = await startActor(definePeer({ kind, module: ${far} }), undefined, { startTimeout: 30_000 })
  console.log(kind, await peer.call('add', [2, 3]))
  await peer.stop()
}
const spin = () => { const end = Date.now() + 1_000; while (Date.now() < end); }
const hog = await startActor(defineActor({ name: 'hog', init: () => ({}), call: { spin } }), undefined, { onBlocked: 'report', blockedAfter: 100, logger: false })
const told = new Promise((resolve) => subscribe('blocked', resolve))
// again and again, as the watchdog's thread takes its time to start
const spins = setInterval(() => hog.call('spin', undefined, { timeout: 60_000 }), 3_000)
console.log('blocked', (await told).ms >= 100)
clearInterval(spins)
await hog.stop()
`
  const { code, output } = await runNode(
    [writeConsumerFile(packed, 'peers.mjs', program)],
    packed.folder,
    t.signal,
  )
  assert.equal([code, output.trim()], [0, 'thread 5\nprocess 5\nblocked true'])
})

test('no entry point loads an optional package', async (t) => {
  const packed = await packWithPeer(t.signal)
  // what all of them load together has none: so has each
  const text = doors.map((door) => `import ${JSON.stringify(door)}\n`).join('')
  const program = writeConsumerFile(packed, 'doors.mjs', text)
  const { code, output, packages } = await runAndListPackages(packed, [program], t.signal)
  assert.is(code, 0, output)
  assert.equal(
    packages.filter((name) => lazyPackages.includes(name)),
    [],
  )
})

/** What a program is made of in one file, minified. */
async function bundled(
  folder: string,
  contents: string,
  options: BuildOptions = { platform: 'node' },
): Promise<Metafile> {
  const { metafile } = await build({
    stdin: { contents, resolveDir: folder },
    absWorkingDir: folder,
    bundle: true,
    minify: true,
    format: 'esm',
    write: false,
    logLevel: 'error',
    ...options,
    metafile: true,
  })
  return metafile
}

test('fields alone bring little of the library into a bundle, and no package but ajv', async (t) => {
  const packed = await packWithPeer(t.signal)
  linkDevelopmentPackage(packed, 'ioredis')
  const { folder } = packed
  t.after(() => stop())
  for (const door of ['caduceus', 'caduceus/protocol']) {
    const contents = `import { field } from '${door}'\nconsole.log(field)\n`
    const metafile = await bundled(folder, contents)
    const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs))
    const used = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    const ours = used.filter(([path]) => path.includes('node_modules/caduceus/dist/'))
    const bytes = ours.reduce((sum, [, { bytesInOutput }]) => sum + bytesInOutput, 0)
    assert.ok(bytes > 10_000 && bytes < 43_500, `${door}: ${bytes} bytes`)
    // a field may hold a JSON Schema: ajv is imported with the first value for one
    const packages = new Set(used.map(([path]) => /node_modules\/([^/]+)\//.exec(path)?.[1] ?? 'own'))
    assert.equal([...packages].sort(), [
      'ajv',
      'caduceus',
      'fast-deep-equal',
      'fast-uri',
      'json-schema-traverse',
      'own',
    ])
  }
})

test('small programs load what they name, and no more than they did', async (t) => {
  const packed = await packOnce(t.signal)
  for (const [name, { text, most, input }] of Object.entries(smallPrograms)) {
    const program = writeConsumerFile(packed, `${name}.mjs`, text)
    const { code, output, bytes } = await runAndListPackages(packed, [program], t.signal, input)
    assert.is(code, 0, output)
    assert.ok(
      bytes <= most * 1_024,
      `${name} loads ${Math.ceil(bytes / 1_024)} KiB, expected ${most} at most`,
    )
  }
})

test('a server bundles without a flag, and brings nothing that it does not name', async (t) => {
  const { folder } = await packOnce(t.signal)
  t.after(() => stop())
  const metafile = await bundled(folder, sampleServer)
  const [{ bytes, inputs } = { bytes: 0, inputs: {} }] = Object.values(metafile.outputs)
  const used = Object.entries(inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0)
  const packages = new Set(used.map(([path]) => /node_modules\/([^/]+)\//.exec(path)?.[1] ?? 'own'))
  for (const name of ['ioredis', 'oauth4webapi', 'undici', 'ws', 'yaml']) assert.not(packages.has(name), name)
  assert.ok(bytes <= mostBundled * 1_024, `${Math.ceil(bytes / 1_024)} KiB, expected ${mostBundled} at most`)
})

test('a server for fetch bundles for a Worker without what only Node needs', async (t) => {
  const { folder } = await packOnce(t.signal)
  t.after(() => stop())
  const text = `import { defineServer, defineTool, field, serveFetch } from 'caduceus/fetch'
const tools = ['one', 'two', 'three'].map((name) =>
  defineTool({ name, input: { text: field.string() }, run: ({ text }) => text }),
)
export default serveFetch(defineServer({ name: 'small', version: '1', tools }), { lifetime: 'program' })
`
  const metafile = await bundled(folder, text, {
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['node:*'],
  })
  const [{ bytes, inputs } = { bytes: 0, inputs: {} }] = Object.values(metafile.outputs)
  const used = Object.entries(inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0)
  const packages = new Set(
    used.map(([path]) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? 'own'),
  )
  // what is left of a package in whose place there is nothing is a few bytes
  for (const name of ['ioredis', 'jose', 'minisearch', 'oauth4webapi', 'undici', 'ws', 'xstate', 'yaml'])
    assert.not(packages.has(name), name)
  assert.ok(
    bytes <= mostForFetch * 1_024,
    `${Math.ceil(bytes / 1_024)} KiB, expected ${mostForFetch} at most`,
  )
})

test('the list of loaded packages names what a program imported', async (t) => {
  const packed = await packOnce(t.signal)
  const program = writeConsumerFile(packed, 'loads.mjs', `await import('undici')\n`)
  const { packages } = await runAndListPackages(packed, [program], t.signal)
  assert.equal(packages, ['undici'])
})

test('a consumer compiles with TypeScript 5 and 7 under nodenext and bundler', async (t) => {
  const packed = await packWithPeer(t.signal)
  for (const name of ['@types/node', 'undici-types']) linkDevelopmentPackage(packed, name)
  const imports = doors.map((door, index) => `import * as door${index} from '${door}'`)
  const used = doors.map((_, index) => `door${index}`).join(', ')
  for (const name of programs) {
    writeConsumerFile(packed, `${name}.mts`, readFileSync(inRoot('test', 'examples', `${name}.ts`), 'utf8'))
  }
  writeConsumerFile(packed, 'program.mts', `${imports.join('\n')}\nexport const doors = [${used}]\n`)
  for (const [module, moduleResolution] of [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ] as const) {
    const compilerOptions = {
      module,
      moduleResolution,
      target: 'es2022',
      types: ['node'],
      strict: true,
      // the declarations themselves are checked once by each compiler
      skipLibCheck: moduleResolution === 'bundler',
      noEmit: true,
    }
    const files = ['program.mts', ...programs.map((name) => `${name}.mts`)]
    writeConsumerFile(packed, 'tsconfig.json', JSON.stringify({ compilerOptions, files }))
    for (const compiler of ['typescript5', 'typescript']) {
      const { code, output } = await runNode(
        [inRoot('node_modules', compiler, 'bin', 'tsc'), '-p', '.'],
        packed.folder,
        t.signal,
      )
      assert.is(code, 0, `${compiler}, ${moduleResolution}:\n${output}`)
    }
  }
})

test('exports of a consumer can be declared by TypeScript 5 and 7', async (t) => {
  const packed = await packOnce(t.signal)
  for (const name of ['@types/node', 'undici-types']) linkDevelopmentPackage(packed, name)
  const text = readFileSync(inRoot('test', 'types', 'declared.ts'), 'utf8')
  const ofServers = /^export const (?:\w+) = (?:field|define)/
  const lines = text.split('\n').filter((line) => ofServers.test(line))
  const names =
    'defineMethod, definePrompt, defineResource, defineResourceTemplate, defineServer, defineTool, field'
  const input = 'export const input = { name, person }'
  const [fields, definitions] = [
    lines.filter((line) => line.includes('= field')),
    lines.filter((line) => line.includes('= define')),
  ]
  const server = [`import { ${names} } from 'caduceus/server'`, ...fields, input, ...definitions].join('\n')
  writeConsumerFile(packed, 'declared.mts', text)
  writeConsumerFile(packed, 'declared-server.mts', server)
  for (const file of ['declared.mts', 'declared-server.mts']) {
    const compilerOptions = {
      module: 'nodenext',
      target: 'es2022',
      types: ['node'],
      strict: true,
      skipLibCheck: true,
      declaration: true,
      emitDeclarationOnly: true,
      outDir: 'declared',
    }
    writeConsumerFile(packed, 'tsconfig.json', JSON.stringify({ compilerOptions, files: [file] }))
    for (const compiler of ['typescript5', 'typescript']) {
      const tsc = inRoot('node_modules', compiler, 'bin', 'tsc')
      const { code, output } = await runNode([tsc, '-p', '.'], packed.folder, t.signal)
      assert.is(code, 0, `${compiler}, ${file}:\n${output}`)
    }
  }
})

test('publint finds no problem', async (t) => {
  const { tarball, folder } = await packOnce(t.signal)
  const { code, output } = await runNode(
    [inRoot('node_modules', 'publint', 'src', 'cli.js'), 'run', tarball, '--strict'],
    folder,
    t.signal,
  )
  assert.is(code, 0, output)
  // bundlers for Workers read `browser`; it would rather see that in `imports`
  assert.not.match(output, /Errors:|Warnings:|^[2-9]\. /m)
})

test('attw finds every door resolvable with right types', async (t) => {
  const { tarball, folder } = await packOnce(t.signal)
  const attw = inRoot('node_modules', '@arethetypeswrong', 'cli', 'dist', 'index.js')
  const { code, output } = await runNode(
    [attw, tarball, '--profile', 'esm-only', '--no-color'],
    folder,
    t.signal,
  )
  assert.is(code, 0, output)
})

/** The names that a file of declarations exports. */
function declaredIn(text: string): string[] {
  const lists = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names = '']) =>
    names.split(','),
  )
  const listed = lists.map((name) =>
    name
      .trim()
      .replace(/^type /, '')
      .replace(/^.* as /, ''),
  )
  const own = [
    ...text.matchAll(/^export (?:declare )?(?:abstract )?(?:function|interface|class|const|type) (\w+)/gm),
  ]
  const names = [...listed, ...own.map(([, name = '']) => name)].filter((name) => name !== '')
  return [...new Set(names)].sort()
}

test.run()
