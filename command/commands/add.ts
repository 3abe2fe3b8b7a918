import { dirname } from 'node:path'
import { isObject } from '../../protocol/wire/json.js'
import { type Invocation, listOf, textOf } from '../base/invocation.js'
import { exitCodes, UsageError } from '../base/usage-error.js'
import { headersOf, pairsOf } from '../connection/target.js'
import { withValue } from '../hosts/edit-jsonc.js'
import { remoteEntry, sectionFor } from '../hosts/host-files.js'
import { parseJsonc } from '../hosts/jsonc.js'
import { printAs } from '../terminal/output.js'
import { oneLine } from '../terminal/screen.js'
import { editFile, fileOf, makeFolder } from './edit-file.js'

/** Ways to a server at an address. */
const transports = ['http', 'sse', 'ws'] as const

/** Writes a server into a file of a host. */
export async function run(invocation: Invocation): Promise<number> {
  const [name, address, extra] = invocation.positionals
  if (name === undefined || name === '') throw new UsageError('add: expected a name for the server')
  if (oneLine(name) !== name)
    throw new UsageError(`add: ${oneLine(name)}: a name has no codes and no ends of lines`)
  if (extra !== undefined) throw new UsageError(`add: ${extra} is one too many: write -- before a command`)
  const { shown, file } = fileOf(invocation)
  const entry =
    invocation.started === undefined ? remote(address, file, invocation) : local(address, invocation)
  let isReplaced = false
  await makeFolder(dirname(file))
  await editFile(invocation, (before) => {
    const text = before === undefined || before.trim() === '' ? '{}\n' : before
    const host = parseJsonc(text, file)
    const section = sectionFor(file, host)
    const servers = (host as Record<string, unknown>)[section]
    isReplaced = isObject(servers) && Object.hasOwn(servers, name)
    if (isReplaced && invocation.values.force !== true)
      throw new UsageError(`${shown} has a server ${name} already: give --force to replace it`)
    return withValue(text, file, [section, name], entry)
  })
  const words = isReplaced ? 'is replaced in' : 'is added to'
  printAs(
    invocation,
    { server: name, file, replaced: isReplaced },
    () => `${name} ${words} ${oneLine(shown)}`,
  )
  return exitCodes.ok
}

function remote(address: string | undefined, file: string, invocation: Invocation): object {
  if (address === undefined) throw new UsageError('add: expected a URL, or -- and a command')
  if (!/^(?:https?|wss?):\/\//i.test(address) && !/^\$\{[^}]+\}/.test(address))
    throw new UsageError(`add: ${oneLine(address)} is no URL: write -- before a command`)
  if (listOf(invocation, 'env').length > 0)
    throw new UsageError('--env is for a server that is started: give --header to one with a URL')
  const usual = /^wss?:/i.test(address) ? 'ws' : 'http'
  const type = textOf(invocation, 'transport') ?? usual
  if (!transports.includes(type as (typeof transports)[number]))
    throw new UsageError(`--transport: expected ${transports.join(', ')}, got ${type}`)
  if ((type === 'ws') !== (usual === 'ws') && !address.startsWith('$'))
    throw new UsageError(`--transport: ${type} does not go with ${oneLine(address).split(':')[0]}:`)
  const headers = headersOf(invocation)
  return {
    ...remoteEntry(file, address, type),
    ...(Object.keys(headers).length > 0 && { headers }),
  }
}

function local(address: string | undefined, invocation: Invocation): object {
  const [command, ...args] = invocation.started ?? []
  if (command === undefined || command === '')
    throw new UsageError('nothing behind --: give the command of a server')
  if (address !== undefined) throw new UsageError('add: expected a URL or a command, not both')
  for (const name of ['header', 'transport'])
    if (invocation.values[name] !== undefined) throw new UsageError(`--${name} is for a server with a URL`)
  const env = pairsOf(listOf(invocation, 'env'), '--env', 'NAME=VALUE')
  return { command, args, ...(Object.keys(env).length > 0 && { env }) }
}
