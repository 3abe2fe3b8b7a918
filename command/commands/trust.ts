import { resolve } from 'node:path'
import type { PinnedDefinition } from 'caduceus/server'
import { fetchLists } from '../../server/gateway/lists.js'
import {
  type Definitions,
  definitionsOf,
  digestOf,
  inOrder,
  type ReadDefinition,
} from '../../server/gateway/pins.js'
import { visible } from '../../server/gateway/hidden-characters.js'
import { inOneGo } from '../../runtime/base/steps.js'
import { systemWorld, type World } from '../../runtime/time/world.js'
import { type Invocation, textOf } from '../base/invocation.js'
import { exitCodes, UsageError } from '../base/usage-error.js'
import { withTarget } from '../connection/connect.js'
import { LockFile, lockFileOf } from '../serving/lock-file.js'
import { lineDiff } from '../terminal/line-diff.js'
import { printAs } from '../terminal/output.js'
import { jsonText, oneLine } from '../terminal/screen.js'
import { ask, isTerminal } from '../terminal/terminal.js'

/** What has become of one definition. */
interface Change {
  readonly key: string
  readonly kind: 'new' | 'changed' | 'gone'
  readonly before: PinnedDefinition | undefined
  readonly after: ReadDefinition | undefined
}

/** Shows how the definitions of a server differ from those that are accepted, and accepts them. */
export async function run(invocation: Invocation, world: World = systemWorld): Promise<number> {
  const [name, extra] = invocation.positionals
  if (name === undefined || extra !== undefined)
    throw new UsageError('trust: expected the name of one server')
  const file = resolve(textOf(invocation, 'file') ?? 'mcp.json')
  const pins = new LockFile(lockFileOf(file), 'caduceus trust', world)
  await pins.read()
  const target = { ...invocation, positionals: [name], values: { ...invocation.values, config: file } }
  return await withTarget(target, async ({ client, signal }) => {
    const { lists, problem } = await fetchLists(client, {
      ...{ signal, needsTemplates: true, clock: world, onSome: () => {} },
    })
    if (problem !== '') throw new Error(`${name}: its lists could not be had (${problem}): try again`)
    const now = onlyOnce(name, inOneGo(definitionsOf(lists, client.server?.instructions)))
    const changes = changesOf(pins.definitionsOf(name), now)
    const isYes = invocation.values.yes === true
    const told = { server: name, changes: changes.map(({ key, kind }) => ({ of: key, kind })) }
    if (changes.length === 0) {
      printAs(invocation, { ...told, accepted: true }, () => `${oneLine(name)}: nothing has changed`)
      return exitCodes.ok
    }
    if (invocation.values.json !== true) printAs(invocation, told, () => textOfChanges(changes))
    if (!isYes && !isTerminal())
      throw new UsageError(
        `${name}: ${changes.length} changes are not accepted: look at them, and give --yes`,
      )
    const answer = isYes
      ? 'y'
      : await ask(`Accept these ${changes.length} of ${oneLine(name)}? [y/N] `, signal)
    const isAccepted = /^y/i.test(answer ?? '')
    if (isAccepted) {
      const accepted = [...now].map(
        ([key, { digest, definition }]) => [key, { digest, definition: inOrder(definition) }] as const,
      )
      await pins.accept(name, new Map(accepted))
    }
    const words = isAccepted ? `is accepted, in ${pins.path}` : 'is not accepted'
    printAs(invocation, { ...told, accepted: isAccepted }, () => `${oneLine(name)} ${words}`)
    return isAccepted ? exitCodes.ok : exitCodes.failed
  })
}

/** Throws UsageError for a server that lists one twice, in two ways: nobody could say which is accepted. */
function onlyOnce(name: string, definitions: Definitions): ReadonlyMap<string, ReadDefinition> {
  return new Map(
    [...definitions].flatMap(([key, [first, ...others]]) => {
      if (first === undefined) return []
      if (others.every(({ digest }) => digest === first.digest)) return [[key, first] as const]
      throw new Error(`${name} lists ${visible(key)} twice, and differs: it cannot be accepted`)
    }),
  )
}

function changesOf(
  before: ReadonlyMap<string, PinnedDefinition>,
  now: ReadonlyMap<string, ReadDefinition>,
): readonly Change[] {
  const keys = [...new Set([...before.keys(), ...now.keys()])].sort()
  return keys.flatMap((key): Change[] => {
    const [former, after] = [before.get(key), now.get(key)]
    if (former?.digest === after?.digest) return []
    const kind = former === undefined ? 'new' : after === undefined ? 'gone' : 'changed'
    return [{ key, kind, before: former, after }]
  })
}

function textOfChanges(changes: readonly Change[]): string {
  return changes
    .flatMap(({ key, kind, before, after }) => [
      `${visible(key)}: ${kind}`,
      ...(after?.hidden ?? []).map((place) => `  ! hidden characters: ${place}`),
      ...problemOf(before),
      ...(kind === 'gone' ? [] : lineDiff(linesOf(before?.definition), linesOf(after?.definition))),
    ])
    .join('\n')
}

function problemOf(before: PinnedDefinition | undefined): readonly string[] {
  if (before === undefined) return []
  if (before.definition === undefined) return ['  ! the lock file has its digest alone, for want of room']
  if (digestOf(before.definition) === before.digest) return []
  return ['  ! its definition in the lock file is not the one that was pinned']
}

/** JSON in lines, with a line for each of a text, and nothing in it that is not seen. */
function linesOf(definition: unknown): string {
  if (definition === undefined) return ''
  const text = jsonText(inOrder(definition), 2)
  const lines = text.replace(/(?<!\\)((?:\\\\)*)\\n/g, (_, before: string) => `${before}\\n\n    `)
  return lines
    .split('\n')
    .map((line) => shownLine(line))
    .join('\n')
}

/** What `visible` shows, of lines of any length. */
function shownLine(line: string): string {
  return (line.match(/[\s\S]{1,100}/gu) ?? ['']).map(visible).join('')
}
