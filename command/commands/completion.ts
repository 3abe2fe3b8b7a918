import { cacheFolder } from '../hosts/folders.js'
import { findServers, type Surroundings } from '../hosts/host-files.js'
import { keptTools, keyOf } from '../hosts/kept-lists.js'
import type { Invocation, Run } from '../base/invocation.js'
import { exitCodes, UsageError } from '../base/usage-error.js'
import { surroundingsOf } from '../connection/target.js'
import { print } from '../terminal/screen.js'
import { scripts } from '../terminal/shell-scripts.js'

/** All commands, by name, with their options. */
type Commands = Readonly<Record<string, { readonly options: Options }>>
type Options = Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>

/** What prints the script of a shell, or what a word of its command line may become. */
export function completionOf(commands: Commands): Run {
  return async ({ positionals, started }: Invocation) => {
    const [shell = '', extra] = positionals
    if (shell === 'suggest' && started !== undefined) {
      const found = suggestions(started, commands, surroundingsOf())
      print(found.map((word) => `${word}\n`).join(''))
      return exitCodes.ok
    }
    if (extra !== undefined || !Object.hasOwn(scripts, shell))
      throw new UsageError(
        `completion: expected bash, zsh or fish, got ${[shell, extra].join(' ').trim() || 'nothing'}`,
      )
    print(scripts[shell as keyof typeof scripts])
    return exitCodes.ok
  }
}

/** What the last word may become, by those before it; from files and kept lists alone. */
function suggestions(
  words: readonly string[],
  commands: Commands,
  surroundings: Surroundings,
): readonly string[] {
  const current = words.at(-1) ?? ''
  const starting = (all: readonly string[]): readonly string[] =>
    [...new Set(all)]
      .filter((word) => word.startsWith(current) && isPlain(word))
      .sort()
      .slice(0, mostWords)
  const [name = '', ...rest] = words.slice(0, -1)
  if (words.length < 2) return starting([...Object.keys(commands), 'help', '--help', '--version'])
  if (name === 'help') return starting(Object.keys(commands))
  if (name === 'completion') return starting(Object.keys(scripts))
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined || rest.includes('--')) return []
  const { given, file, isValue } = read(rest, command.options)
  if (isValue) return []
  if (current.startsWith('-')) return starting(Object.keys(command.options).map((option) => `--${option}`))
  if (name === 'config') return given.length === 0 ? starting(['get', 'set', 'unset']) : []
  const takesServer = command.options.config !== undefined || name === 'remove' || name === 'trust'
  const servers = command.options.config === undefined ? (file ?? 'mcp.json') : file
  if (takesServer && given.length === 0) return starting(serversOf(surroundings, servers).filter(isOwnWord))
  if (name !== 'call') return []
  const tools = keptTools(cacheFolder(surroundings), keyOf(given[0] ?? '', file, surroundings))
  if (given.length === 1) return starting(tools.map((tool) => tool.name).filter(isOwnWord))
  const { properties = [] } = tools.find((tool) => tool.name === given[1]) ?? {}
  const taken = given.slice(2).map((word) => word.split('=')[0])
  return starting(properties.filter((one) => !taken.includes(one) && isOwnWord(one)).map((one) => `${one}=`))
}

/** Words that a shell is given. */
const mostWords = 1_000

/** What a shell can show in a line, and would not take for something else. */
function isPlain(word: string): boolean {
  return word.length <= 200 && /^[^\s\p{C}'"`$\\;&|<>()!*?#~[\]{}]+$/u.test(word)
}

/** A name that somebody else chose, and the program would not take for an option or a file. */
function isOwnWord(name: string): boolean {
  return !/^[-@=]/.test(name)
}

/** The words that are no options, the file of a host, and whether the last option waits for its value. */
function read(words: readonly string[], options: Options) {
  const given: string[] = []
  let file: string | undefined
  let waiting: string | undefined
  for (const word of words) {
    const [, name = '', value] = /^--([\w-]+)(?:=(.*))?$/s.exec(word) ?? []
    if (waiting !== undefined) {
      if (isFile(waiting)) file = word
      waiting = undefined
    } else if (name === '') given.push(word)
    else if (value !== undefined && isFile(name)) file = value
    else if (value === undefined && Object.hasOwn(options, name) && options[name]?.type === 'string')
      waiting = name
  }
  return { given, file, isValue: waiting !== undefined }
}

function isFile(option: string): boolean {
  return option === 'config' || option === 'file'
}

function serversOf(surroundings: Surroundings, file: string | undefined): readonly string[] {
  try {
    const servers = findServers(surroundings, file)
    return servers.filter(({ isDisabled }) => !isDisabled).map(({ name }) => name)
  } catch {
    // a file that is wrong is told by the command itself
    return []
  }
}
