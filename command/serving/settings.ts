import { resolve } from 'node:path'
import { show } from '../../runtime/base/errors.js'
import type { Invocation } from '../base/invocation.js'
import { UsageError } from '../base/usage-error.js'

/** One thing that is said by an option, by a variable of the environment, or in the section `caduceus`. */
interface Setting {
  /** Without `--`; none: a command line is seen by all who use the machine. */
  readonly flag?: string
  readonly variable: string
  /** The field of the section. */
  readonly field: string
  /** What stands behind the option; none: it stands for yes. */
  readonly form?: string
  readonly means: string
  /** The value of the field, of texts: several where the option may be given several times. */
  readonly read: (texts: readonly string[]) => unknown
  readonly isList?: true
}

const text = ([one = '']: readonly string[]): unknown => one
const path = ([one = '']: readonly string[]): unknown => (one === '' ? '' : resolve(one))
const list = (texts: readonly string[]): unknown =>
  texts.flatMap((one) => one.split(',').map((each) => each.trim())).filter((one) => one !== '')
/** What is no number is judged, and told, as it was written. */
const number = ([one = '']: readonly string[]): unknown => (/^\d+$/.test(one) ? Number(one) : one)
const yes = ([one = '']: readonly string[]): unknown =>
  /^(?:true|1|yes)$/i.test(one) ? true : /^(?:false|0|no)$/i.test(one) ? false : one
const proxies = (texts: readonly string[]): unknown => {
  const [one = ''] = texts
  return /^\d+$/.test(one) && one !== '0' ? Number(one) : yes(texts)
}
const engine = ([one = '']: readonly string[]): unknown =>
  /^rediss?:\/\//.test(one) ? { redis: one } : one === '' ? one : { files: resolve(one) }
const words = ([all = '']: readonly string[]): unknown => all.split(/\s+/).filter((one) => one !== '')
const rate = ([one = '']: readonly string[]): unknown => {
  const [, calls, per] = /^(\d+)\/(\w+)$/.exec(one) ?? []
  return calls === undefined ? one : { calls: Number(calls), per }
}
const tokens = ([all = '']: readonly string[]): unknown => {
  const found = new Map<string, string>()
  for (const one of all.split(/\s+/).filter((each) => each !== '')) {
    const at = one.indexOf('=')
    // not shown: it may be a token
    if (at < 1) throw new UsageError('CADUCEUS_TOKENS: expected NAME=TOKEN, with spaces between them')
    const name = one.slice(0, at)
    if (found.has(name)) throw new UsageError(`CADUCEUS_TOKENS: ${name} has two tokens: give each a name`)
    found.set(name, one.slice(at + 1))
  }
  return Object.fromEntries(found)
}

/**
 * All of them, in the order of the help. What is given by an option comes first, then by a variable, then in
 * the file.
 */
export const settings: readonly Setting[] = [
  {
    ...{ flag: 'http', variable: 'CADUCEUS_HTTP', field: 'listen.port', form: 'PORT', read: text },
    means: 'the port; default 3000, at http://127.0.0.1:3000/mcp',
  },
  {
    ...{ flag: 'host', variable: 'CADUCEUS_HOST', field: 'listen.host', form: 'ADDRESS', read: text },
    means: 'the address to listen on, such as 0.0.0.0; others than 127.0.0.1 need --allowed-host',
  },
  {
    ...{ flag: 'path', variable: 'CADUCEUS_PATH', field: 'listen.path', form: 'PATH', read: text },
    means: 'default /mcp',
  },
  {
    ...{ flag: 'allowed-host', variable: 'CADUCEUS_ALLOWED_HOSTS', field: 'listen.allowedHosts' },
    ...{ form: 'NAME', read: list, isList: true },
    means: 'a name that clients call it by; may be given several times',
  },
  {
    ...{ flag: 'allowed-origin', variable: 'CADUCEUS_ALLOWED_ORIGINS', field: 'listen.allowedOrigins' },
    ...{ form: 'ORIGIN', read: list, isList: true },
    means: 'a web site whose pages may call it; may be given several times',
  },
  {
    ...{ flag: 'trust-proxy', variable: 'CADUCEUS_TRUST_PROXY', field: 'listen.trustProxy' },
    ...{ form: 'true|N', read: proxies },
    means: 'there is a proxy in front, or so many, and no way past them',
  },
  {
    ...{ flag: 'health', variable: 'CADUCEUS_HEALTH', field: 'listen.health', read: yes },
    means: 'answers /healthz and /readyz',
  },
  {
    ...{ flag: 'drain-delay', variable: 'CADUCEUS_DRAIN_DELAY', field: 'listen.drainDelay' },
    ...{ form: 'MS', read: number },
    means: 'after SIGTERM it serves on for so long, and /readyz says no: balancers notice',
  },
  {
    ...{
      flag: 'tls-cert',
      variable: 'CADUCEUS_TLS_CERT',
      field: 'listen.tls.cert',
      form: 'FILE',
      read: path,
    },
    means: 'the certificate, read again at SIGHUP; goes with --tls-key',
  },
  {
    ...{ flag: 'tls-key', variable: 'CADUCEUS_TLS_KEY', field: 'listen.tls.key', form: 'FILE', read: path },
    means: 'the key of the certificate',
  },
  {
    ...{ variable: 'CADUCEUS_TOKENS', field: 'tokens', read: tokens },
    means: 'who may come in: NAME=TOKEN, with spaces between them; by the environment only',
  },
  {
    ...{ flag: 'engine', variable: 'CADUCEUS_ENGINE', field: 'engine', form: 'redis://HOST|FOLDER' },
    ...{ read: engine },
    means: 'where sessions and tasks live; default: in memory',
  },
  {
    ...{ variable: 'CADUCEUS_KEYS', field: 'engine.keys', read: words },
    means: 'what is kept in Redis is signed with: KEY, with spaces between them; by the environment only',
  },
  {
    ...{ flag: 'rate', variable: 'CADUCEUS_RATE', field: 'rate', form: 'CALLS/minute', read: rate },
    means: 'calls of each caller (a user, or else an address) in a second, minute or hour',
  },
  {
    ...{ flag: 'idle', variable: 'CADUCEUS_IDLE', field: 'idle', form: 'MS', read: number },
    means: 'servers of the file end after so long without a call, and come back with the next one',
  },
  {
    ...{ flag: 'metrics', variable: 'CADUCEUS_METRICS', field: 'metrics.port', form: 'PORT', read: text },
    means: 'answers /metrics at a port of its own, at 127.0.0.1',
  },
  {
    ...{ flag: 'metrics-host', variable: 'CADUCEUS_METRICS_HOST', field: 'metrics.host', form: 'ADDRESS' },
    ...{ read: text },
    means: 'the address of that port',
  },
  {
    ...{ flag: 'log', variable: 'CADUCEUS_LOG', field: 'log.level', form: 'LEVEL', read: text },
    means: 'debug, info, warn, error or silent; default info',
  },
  {
    ...{ flag: 'log-format', variable: 'CADUCEUS_LOG_FORMAT', field: 'log.format', form: 'text|json' },
    ...{ read: text },
    means: 'lines for people, or JSON; default: text on a terminal',
  },
  {
    ...{ flag: 'observe', variable: 'CADUCEUS_OBSERVE', field: 'observe', form: 'PORT', read: text },
    means: 'shows its processes in a browser, at http://127.0.0.1:PORT; its address is told',
  },
]

/** What was given, besides the file, by the field that it stands for. */
export type Overrides = ReadonlyMap<string, { readonly value: unknown; readonly from: string }>

/** Variables without which more is allowed: one that is misspelt, or not filled in, must not be left alone. */
const guarding = [
  { name: 'CADUCEUS_TOKENS', form: 'NAME=TOKEN', without: 'let in everybody' },
  { name: 'CADUCEUS_KEYS', form: 'KEY', without: 'sign nothing' },
] as const

/** Throws UsageError for a variable that is meant to be one of these, and is none. */
export function readSettings(
  { values }: Pick<Invocation, 'values'>,
  env: Readonly<Record<string, string | undefined>>,
): Overrides {
  for (const { name, form, without } of guarding) {
    const misspelt = Object.keys(env).find((one) => one.startsWith(name.slice(0, -1)) && one !== name)
    if (misspelt !== undefined)
      throw new UsageError(`${misspelt} is not read (did you mean ${name}="${form} ..."?)`)
    if (env[name]?.trim() === '')
      throw new UsageError(`${name} is empty: give it ${form}, or leave it out to ${without}`)
  }
  const given = new Map<string, { readonly value: unknown; readonly from: string }>()
  for (const { flag, variable, field, read } of settings) {
    const option = flag === undefined ? undefined : values[flag]
    const ofVariable = env[variable]
    if (option !== undefined) {
      const texts = [option].flat().map(String)
      given.set(field, { value: read(texts), from: `--${flag}` })
    } else if (ofVariable !== undefined && ofVariable !== '')
      given.set(field, { value: read([ofVariable]), from: variable })
  }
  return given
}

/** A section with what was given in its place. */
export function overlaid(
  section: Readonly<Record<string, unknown>>,
  overrides: Overrides,
): Readonly<Record<string, unknown>> {
  let all = section
  for (const [field, { value }] of overrides) all = withField(all, field.split('.'), value, field)
  return all
}

function withField(
  whole: Readonly<Record<string, unknown>>,
  [name = '', ...rest]: readonly string[],
  value: unknown,
  field: string,
): Readonly<Record<string, unknown>> {
  if (rest.length === 0) return { ...whole, [name]: value }
  const inner = Object.hasOwn(whole, name) ? whole[name] : {}
  if (typeof inner !== 'object' || inner === null)
    throw new UsageError(`caduceus.${name}: expected an object with ${field}, got ${show(inner)}`)
  return { ...whole, [name]: withField(inner as Readonly<Record<string, unknown>>, rest, value, field) }
}

/** The options of a command line for `parseArgs`. */
export function settingOptions(): Readonly<Record<string, { type: 'string' | 'boolean'; multiple?: true }>> {
  return Object.fromEntries(
    settings.flatMap(({ flag, form, isList }) =>
      flag === undefined
        ? []
        : [[flag, { type: form === undefined ? 'boolean' : 'string', ...(isList && { multiple: isList }) }]],
    ),
  )
}

/** What each option means, for the help. */
export function settingMeanings(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    settings.flatMap(({ flag, form, means, variable }) =>
      flag === undefined ? [] : [[flag, `${form === undefined ? '' : `${form}: `}${means} (${variable})`]],
    ),
  )
}
