import { messageOf, stackOf } from '../base/errors.js'
import { unsteered } from '../base/steering.js'

/** The facts of a report, as in its JSON. */
type ReportFacts = Readonly<Record<string, unknown>>

/**
 * A report as a person reads it in a terminal: what died, why, where, and what happens next, in one line.
 * Undefined for what another line tells.
 */
export function lineOf(facts: object, message: string): string | undefined {
  const { category, ...rest } = facts as ReportFacts
  const words = Object.hasOwn(wordsOf, String(category)) ? wordsOf[String(category)] : undefined
  const text = words === undefined ? plainly(rest, message) : words(rest, message)
  return text === undefined ? undefined : unsteered(text.replace(controls, ' ')).slice(0, longest)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: words on both sides of them stay apart
const controls = /[\u0000-\u001f\u007f-\u009f]+\s*/g
const longest = 1_000
/** So much of a message leaves room for what else is told. */
const longestMessage = 400

const wordsOf: Readonly<Record<string, (facts: ReportFacts, message: string) => string | undefined>> = {
  crash({ actor, err, reason, report, about, during, mailbox }) {
    const why =
      err === undefined ? String(reason) : `${messageOf(err).slice(0, longestMessage)}${frameOf(err)}`
    const lost = Number(mailbox) > 0 ? `; ${mailbox} waiting messages are lost` : ''
    const told =
      during === 'task' || during === 'stray' ? `; whoever called it is told (report ${report})` : ''
    const of = about === undefined ? '' : `: ${factsIn(about as ReportFacts)}`
    return `${actor} crashed: ${why}${lost}${told}${of}`
  },
  supervisor({ supervisor, context, child, reason }) {
    const { id } = child as { id: string }
    const why = String(reason)
    if (why === 'reached_max_restart_intensity')
      return `${supervisor} gave up after too many restarts: it ends, and its supervisor starts it anew, if there is one`
    if (context === 'start_error') return `${id} cannot start: ${why.replace(/^crash: /, '')}`
    // its crash has been told
    if (why.startsWith('crash')) return undefined
    return `${id} ended: ${why}`
  },
  progress: ({ supervisor, child, restarted }) =>
    `${(child as { id: string }).id} ${restarted === true ? 'runs again' : 'runs'}, below ${supervisor}`,
  stray({ err, owner, outcome }) {
    // its crash is told
    if (outcome === 'failed') return undefined
    const next = { stopped: 'its tree ends', exited: 'the program ends' }[String(outcome)] ?? 'all goes on'
    return `an error that nobody caught, of ${owner ?? 'no process'}: ${messageOf(err)}${frameOf(err)}; ${next}`
  },
  notice: ({ actor, notice }) => `${actor}: ${String(notice).replaceAll('_', ' ')}`,
  blocked: ({ stack }, message) => {
    const [frame] = Array.isArray(stack) ? stack.filter(isOwn) : []
    return frame === undefined ? message : `${message}, at ${frame}`
  },
  'client.warning': ({ client, tool, reason }) =>
    `${client}: ${tool === undefined ? '' : `tool ${tool}: `}${reason}`,
  'client.log': ({ client, logger, data }) =>
    `${client}${logger === undefined ? '' : ` (${logger})`} says: ${data}`,
}

function plainly({ tree: _tree, ...facts }: ReportFacts, message: string): string {
  const told = factsIn(facts)
  return told === '' ? message : `${message}: ${told}`
}

function factsIn(facts: object): string {
  return Object.entries(facts)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
}

/** `, at run (shop.js:4:41)`: the first frame that is neither of Node, nor of a package, nor of ours. */
function frameOf(error: unknown): string {
  const frames = stackOf(error)
    .split('\n')
    .map((line) => line.trim())
  const own = frames.find((line) => line.startsWith('at ') && isOwn(line))
  return own === undefined ? '' : `, ${shorten(own)}`
}

function isOwn(frame: string): boolean {
  return !/node:|[\\/]node_modules[\\/]/.test(frame) && ours?.test(frame) !== true
}

/** Where this library lies, unless it is part of a program's own bundle. */
const ours = placeOf(import.meta.url ?? '')

function placeOf(url: string): RegExp | undefined {
  const [, root, folder] = /^(?:file:\/\/)?(.*\/)(dist|\.t)\/(?:chunks|runtime|[\w.-]+\.js$)/.exec(url) ?? []
  if (root === undefined) return undefined
  const plain = root.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const floors = '(?:\\.t/)?(?:runtime|protocol|transports|server|client|command)'
  return new RegExp(`${plain}(?:${folder === 'dist' ? 'dist' : floors})/`)
}

/** Without the folders that the program was started in. */
function shorten(frame: string): string {
  return frame
    .replace(' [as run]', '')
    .replaceAll(`file://${process.cwd()}/`, '')
    .replaceAll(`${process.cwd()}/`, '')
    .replaceAll('file://', '')
}
