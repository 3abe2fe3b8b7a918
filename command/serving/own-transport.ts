import { spawn } from 'node:child_process'
import { serveHttp, type ServerTransport, serveWebSocket } from 'caduceus'
import { isObject } from '../../protocol/wire/json.js'
import { systemWorld, type World } from '../../runtime/time/world.js'

/** Where a module wants to be reached. */
interface OwnTransport {
  /** Takes connections for a process of the module, which has what cannot be copied, such as functions. */
  readonly transport: ServerTransport
  readonly place: { readonly host?: string; readonly port: number }
}

/** Milliseconds that a module may take to say it; one that never does is told of by whoever serves it. */
const timeout = 10_000

const makers: Readonly<Record<string, (options: object) => ServerTransport>> = {
  http: serveHttp,
  websocket: serveWebSocket,
}

/**
 * What a module says of its own transport, if that has a port. It is loaded for that in a process that ends
 * at once: code that is being written may do anything. Resolves with undefined where it says nothing.
 */
export async function ownTransportOf(
  module: URL,
  world: World = systemWorld,
): Promise<OwnTransport | undefined> {
  const said = await answerOf(module, world)
  if (!isObject(said)) return undefined
  const { name, options } = said
  const make = Object.hasOwn(makers, String(name)) ? makers[String(name)] : undefined
  if (make === undefined || !isObject(options) || typeof options.port !== 'number' || options.port === 0)
    return undefined
  const { host, port } = options
  return { transport: make(options), place: { port, ...(typeof host === 'string' && { host }) } }
}

/** What runs there; a function among the options leaves the port alone. */
const question = `
process.once('disconnect', () => process.exit())
const loaded = await import(process.argv[2])
const { options } = loaded.default?.__esModule === true ? loaded.default : loaded
const { name, sharing } = options?.transport ?? {}
let plain = {}
try {
  plain = sharing?.options() ?? {}
} catch {}
process.send({ ownTransport: { name, options: { ...plain, port: sharing?.port } } })
`

function answerOf(module: URL, world: World): Promise<unknown> {
  const isFit = (arg: string): boolean => !/^--(?:inspect|test|watch)/.test(arg)
  const args = [...process.execArgv.filter(isFit), '--input-type=module', '--eval', question]
  const child = spawn(process.execPath, [...args, '--', process.argv[1] ?? '', module.href], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
  })
  return new Promise((resolve) => {
    let answer: unknown
    const end = (): void => void child.kill('SIGKILL')
    const late = world.setTimeout(end, timeout)
    child.on('message', (message) => {
      // the module may send something, too
      if (!isObject(message) || message.ownTransport === undefined) return
      answer = message.ownTransport
      end()
    })
    child.once('error', () => {
      end()
      world.clearTimeout(late)
      resolve(undefined)
    })
    // it has let go of whatever it has opened
    child.once('close', () => {
      world.clearTimeout(late)
      resolve(answer)
    })
  })
}
