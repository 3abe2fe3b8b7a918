import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { lazy } from '../../runtime/faults/load.js'
import { entryOf } from '../../runtime/base/entries.js'
import { messageOf } from '../../runtime/base/errors.js'
import { threads } from '../../runtime/base/threads.js'

/** The JSON of a text of YAML, or why there is none. */
type JsonOfYaml = { readonly json: string } | { readonly problem: string }

/** Characters of YAML: a megabyte takes 1 to 2 s, and 100 MB of memory. */
export const mostYaml = 8 * 1024 * 1024
/** A text of so many characters is parsed here, in about 20 ms. */
const short = 16_384
/** Values of a document, aliases written out. */
const mostNodes = 2_000_000
const resourceLimits = { maxOldGenerationSizeMb: 1_536 }

const thread = entryOf('server/openapi/yaml-thread.js')
const loadYaml = /* @__PURE__ */ lazy('yaml', () => import('yaml'))

/**
 * Parses YAML in a thread of its own, which takes the event loop from nobody; here what is short, and where there
 * are no threads, or the program was bundled into one file.
 */
export async function jsonOfYaml(text: string): Promise<JsonOfYaml> {
  const Worker = text.length > short ? threads()?.Worker : undefined
  if (Worker === undefined || !existsSync(fileURLToPath(thread))) return parseYaml(text)
  const worker = new Worker(thread, {
    name: 'yaml',
    workerData: text,
    execArgv: [],
    env: {},
    resourceLimits,
  })
  return new Promise((resolve) => {
    worker.on('message', resolve)
    // also for want of memory
    worker.on('error', (error) => resolve({ problem: `${messageOf(error)}: write it as JSON` }))
    worker.on('exit', () => resolve({ problem: 'the thread that parses it has ended' }))
  })
}

/** The same in one go. */
export async function parseYaml(text: string): Promise<JsonOfYaml> {
  const { parseDocument } = await loadYaml()
  const parsed = parseDocument(text, { schema: 'core', merge: true, prettyErrors: true, logLevel: 'silent' })
  const [error] = parsed.errors
  if (error !== undefined)
    return { problem: `it is neither JSON nor YAML: ${messageOf(error).split('\n')[0]}` }
  try {
    // aliases of aliases may stand for more than there is room for
    const value: unknown = parsed.toJS({ maxAliasCount: 100 })
    countNodes(value, { left: mostNodes })
    return { json: JSON.stringify(value) ?? 'null' }
  } catch (cause) {
    return { problem: messageOf(cause) }
  }
}

/** What aliases stand for counts each time. Throws RangeError for more, and for what is in itself. */
function countNodes(value: unknown, room: { left: number }): void {
  room.left -= 1
  if (room.left < 0) throw new RangeError(`it has more than ${mostNodes} values, aliases written out`)
  if (typeof value === 'object' && value !== null)
    for (const inner of Object.values(value)) countNodes(inner, room)
}
