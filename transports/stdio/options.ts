import { badOption, orElse, type Read, readMs, readOptions, readText } from '../base/read-option.js'
import { type LinkLimitOptions, readLinkLimits } from '../contract/link-limits.js'

/** How a server is started as a child process, without a shell. */
export interface StdioOptions {
  /** The program: a path, or looked up in PATH. On Windows batch files (`npx` is one) start in `cmd.exe`. */
  readonly command: string
  /** Its arguments, each passed on as it is. Default none. */
  readonly args?: readonly string[]
  /** Variables besides the inherited ones; only harmless ones are inherited (HOME, PATH and the like). */
  readonly env?: Readonly<Record<string, string>>
  /** The folder it runs in. Default: the one of this process. */
  readonly cwd?: string
  /**
   * What becomes of its standard error: kept for error messages only (`ring`, the default), also passed on to
   * ours (`inherit`), or also given to a function line by line.
   */
  readonly stderr?: 'ring' | 'inherit' | ((line: string) => void)
  /** How large messages may be, and what waits. */
  readonly limits?: LinkLimitOptions
  /** Milliseconds from the end of standard input to SIGTERM, and from there to SIGKILL. Default 2000. */
  readonly stopTimeout?: number
}

/** Checked options with every default filled in; `env` is the whole environment of the server. */
export type StdioSettings = ReturnType<typeof readStdioOptions>

/** Reads the options of `stdio()`. Throws BAD_OPTION, naming the field. */
export function readStdioOptions(options: StdioOptions) {
  const read = readOptions(options, readers, undefined, "stdio({ command: 'node', args: ['server.js'] })")
  return Object.freeze({ ...read, env: serverEnvironment(read.env) })
}

const readArgs: Read<readonly string[]> = (value, field) => {
  if (!Array.isArray(value)) throw badOption(field, 'an array of strings', value)
  for (const [index, arg] of value.entries()) {
    if (typeof arg !== 'string' || arg.includes('\0'))
      throw badOption(`${field}[${index}]`, 'a string without NUL', arg)
  }
  return Object.freeze([...value])
}

const readEnv: Read<Readonly<Record<string, string>>> = (value, field) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badOption(field, 'an object of strings', typeof value)
  for (const [name, text] of Object.entries(value)) {
    if (name === '' || /[=\0]/.test(name)) throw badOption(field, 'names without = and NUL', name)
    if (typeof text !== 'string' || text.includes('\0'))
      throw badOption(
        `${field}.${name}`,
        'a string without NUL, in quotes also if it is a number',
        typeof text,
      )
  }
  return value as Readonly<Record<string, string>>
}

const readStderr: Read<NonNullable<StdioOptions['stderr']>> = (value, field) => {
  if (value === 'ring' || value === 'inherit' || typeof value === 'function')
    return value as NonNullable<StdioOptions['stderr']>
  throw badOption(field, "'ring', 'inherit' or a function", value)
}

const readers = {
  command: readText,
  args: orElse(readArgs, []),
  env: orElse(readEnv, {}),
  cwd: orElse(readText, undefined),
  stderr: orElse(readStderr, 'ring'),
  limits: readLinkLimits,
  stopTimeout: orElse(readMs, 2_000),
}

const posixNames = ['HOME', 'LANG', 'LC_ALL', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'USER']
const windowsNames = [
  'APPDATA',
  'COMSPEC',
  'HOMEDRIVE',
  'HOMEPATH',
  'LOCALAPPDATA',
  'PATH',
  'PATHEXT',
  'PROCESSOR_ARCHITECTURE',
  'SYSTEMDRIVE',
  'SYSTEMROOT',
  'TEMP',
  'TMP',
  'USERNAME',
  'USERPROFILE',
]

/** The variables that every server inherits: what programs need to run, and no secrets. */
export function inheritedNames(platform: NodeJS.Platform = process.platform): readonly string[] {
  return platform === 'win32' ? windowsNames : posixNames
}

/** The whole environment of a server: the inherited variables that are set, and the given ones over them. */
export function serverEnvironment(
  given: Readonly<Record<string, string>>,
  own: NodeJS.ProcessEnv = process.env,
): Readonly<Record<string, string>> {
  const inherited = inheritedNames().flatMap((name) => {
    const value = own[name]
    // A value that begins with () is a function that bash exported: code, not data.
    return value === undefined || value.startsWith('()') ? [] : [[name, value] as const]
  })
  return Object.freeze({ ...Object.fromEntries(inherited), ...given })
}
