import { isObject } from '../../protocol/wire/json.js'
import { didYouMean } from '../../runtime/base/near.js'
import type { Invocation } from '../base/invocation.js'
import { exitCodes, UsageError } from '../base/usage-error.js'
import { withoutValue } from '../hosts/edit-jsonc.js'
import { sectionFor } from '../hosts/host-files.js'
import { parseJsonc } from '../hosts/jsonc.js'
import { printAs } from '../terminal/output.js'
import { oneLine } from '../terminal/screen.js'
import { editFile, fileOf } from './edit-file.js'

/** Takes a server out of a file of a host, and what its section `caduceus` says of it. */
export async function run(invocation: Invocation): Promise<number> {
  const [name, extra] = invocation.positionals
  if (name === undefined || extra !== undefined)
    throw new UsageError('remove: expected the name of one server')
  const { shown, file } = fileOf(invocation)
  await editFile(invocation, (text) => {
    if (text === undefined) throw new UsageError(`${shown} is not there`)
    const host = parseJsonc(text, file)
    const section = sectionFor(file, host)
    const rest = withoutValue(text, file, [section, name])
    if (rest === undefined)
      throw new UsageError(`${shown} has no server ${oneLine(name)}${known(host, section, name)}`)
    return withoutOptions(rest, file, name)
  })
  printAs(invocation, { server: name, file }, () => `${oneLine(name)} is removed from ${oneLine(shown)}`)
  return exitCodes.ok
}

function known(host: unknown, section: string, name: string): string {
  const servers = isObject(host) ? host[section] : undefined
  const names = isObject(servers) ? Object.keys(servers) : []
  return names.length === 0 ? '' : `; known are ${names.join(', ')}${didYouMean(name, names)}`
}

/** `serve` takes no options for a server that is not there. */
function withoutOptions(text: string, file: string, name: string): string {
  const host = parseJsonc(text, file)
  const section = isObject(host) ? host.caduceus : undefined
  const servers = isObject(section) ? section.servers : undefined
  const hasOptions = isObject(servers) && Object.hasOwn(servers, name)
  return hasOptions ? (withoutValue(text, file, ['caduceus', 'servers', name]) ?? text) : text
}
