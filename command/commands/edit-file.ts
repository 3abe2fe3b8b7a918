import { constants } from 'node:fs'
import { access, lstat, mkdir, readFile, realpath } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { ServerError, TransportError } from 'caduceus'
import { lockFile } from '../../client/auth/file-storage.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { ifThere } from '../../runtime/base/files.js'
import { messageOf } from '../../runtime/base/errors.js'
import { systemWorld, type World } from '../../runtime/time/world.js'
import { type Invocation, textOf } from '../base/invocation.js'
import { UsageError } from '../base/usage-error.js'
import { writeWhole } from '../base/write-file.js'
import { checked, connectionOf } from '../connection/target.js'
import { type FoundServer, mostOfHost, sectionFor, serversIn } from '../hosts/host-files.js'
import { fieldAt, parseJsonc, type Places } from '../hosts/jsonc.js'
import { withoutSecretsOf } from '../hosts/secrets.js'
import { checkLogin, readTeamFile } from '../serving/team-file.js'
import { listenAs, serverOptionsOf } from '../serving/team-listening.js'
import { oneLine, tell } from '../terminal/screen.js'
import { textIn } from './given-content.js'

/** Ms that another program may have the file: what one that was killed has left is taken over after 30 s. */
const patience = 45_000
/** Stands for a variable while a file is checked: it fits where an address, a text or a token does. */
const placeholder = 'https://variable.invalid/caduceus'

/** The file that a command edits, as it was named and as the system names it. */
export function fileOf(invocation: Invocation): { readonly shown: string; readonly file: string } {
  const shown = textOf(invocation, 'file') ?? 'mcp.json'
  if (shown === '') throw new UsageError('--file: expected a file, got an empty text')
  return { shown, file: resolve(shown) }
}

/** What a file has in it; undefined where there is none. Rejects with UsageError. */
export async function readText(file: string): Promise<string | undefined> {
  try {
    const bytes = await ifThere(async () => {
      const facts = await lstat(await realpath(file))
      if (!facts.isFile()) throw new UsageError(`${file} is no file`)
      if (facts.size > mostOfHost) throw new UsageError(`${file} has more than ${mostOfHost} bytes`)
      return await readFile(file)
    })
    if (bytes !== undefined) return `${hasMark(bytes) ? '\uFEFF' : ''}${textIn(bytes, file)}`
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  if ((await ifThere(() => lstat(file))) === undefined) return undefined
  throw new UsageError(`${file} is a link that leads nowhere: make what it leads to, or remove it`)
}

/** A mark of the order of bytes, which a decoder takes away. */
function hasMark(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}

/**
 * Changes the text of a file, whole or not at all. What comes out is read as `serve` reads it before it is
 * written. Two programs that change it at once wait for each other; a change that an editor makes meanwhile
 * stays. Rejects with UsageError: then nothing is written.
 */
export async function editFile(
  invocation: Invocation,
  change: (text: string | undefined, file: string) => string,
  world: World = systemWorld,
): Promise<void> {
  const { file } = fileOf(invocation)
  const place = (await ifThere(() => realpath(file))) ?? file
  const release = await locked(place, world)
  try {
    const before = await readText(file)
    const after = change(before, file)
    if (after === before) return
    // whoever takes that right away does not want it changed
    if (before !== undefined)
      await access(file, constants.W_OK).catch((error: unknown) => {
        throw unwritable(file, error)
      })
    await checkText(file, after, before, invocation)
    const check = async (): Promise<void> => {
      if ((await readText(file)) !== before)
        throw new UsageError(
          `${file} was changed by another program meanwhile: nothing is written; try again`,
        )
    }
    await writeWhole(file, after, { force: true, mode: 0o600, check })
  } finally {
    await release()
  }
}

/** The folder of a host, such as `.cursor`, is made; any other that is not there may be a typing error. */
export async function makeFolder(folder: string): Promise<void> {
  if (!basename(folder).startsWith('.')) return
  await mkdir(folder).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw unwritable(folder, error)
  })
}

async function locked(place: string, world: World): Promise<() => Promise<void>> {
  const path = `${place}.lock`
  const late = new AbortController()
  const problem = `another program has had ${path} for ${patience} ms: end it, or remove that file`
  const timer = world.setTimeout(() => late.abort(new UsageError(problem)), patience)
  try {
    return await lockFile(path, late.signal)
  } catch (error) {
    if (error instanceof UsageError || late.signal.aborted) throw error
    throw unwritable(place, error)
  } finally {
    world.clearTimeout(timer)
  }
}

function unwritable(file: string, error: unknown): UsageError {
  const { code } = error as NodeJS.ErrnoException
  const why = code === 'ENOENT' ? `there is no folder ${dirname(file)}` : code
  return new UsageError(`${file} cannot be written (${why})`)
}

/** Rejects with UsageError where `serve` would not take the file, or an entry that is new. */
async function checkText(
  file: string,
  text: string,
  before: string | undefined,
  invocation: Invocation,
): Promise<void> {
  const places: Places = new WeakMap()
  const whole = parseJsonc(text, file, undefined, places)
  const problemOf = (error: unknown): string =>
    withoutSecretsOf(whole, oneLine(messageOf(error).replace(/; mend the file$/, '')))
  const fail = (problem: string): void => {
    if (!problem.includes(placeholder)) throw new UsageError(`${problem}; nothing is written`)
    tell(`caduceus: not all is checked, since a variable stands there: ${problem}`)
  }
  const servers = serversIn(file, text, () => {})
  const names = servers.map(({ name }) => name)
  const fill = async ({ entry }: FoundServer) => filledForCheck(entry) as FoundServer['entry']
  try {
    const team = await readTeamFile(file, text, names, fill)
    const [section, had] = [sectionIn(whole), sectionBefore(file, before)]
    const { tls: _, ...listen } = team.listen
    // the files of what was there before may be on another machine
    listenAs(file, isAlike(section.listen, had.listen) ? { ...team, listen } : team, 0, undefined)
    if (!isAlike(section.engine, had.engine)) serverOptionsOf(file, team)
    for (const { name, entry } of servers) checkLogin(name, entry, team.servers.get(name))
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof TransportError || error instanceof ServerError))
      throw error
    fail(problemOf(error))
  }
  const former = new Map((before === undefined ? [] : entriesIn(file, before)).map((one) => [one.name, one]))
  for (const { name, entry } of servers) {
    if (JSON.stringify(former.get(name)?.entry) === JSON.stringify(entry)) continue
    try {
      checkEntry(filledForCheck(entry) as FoundServer['entry'], invocation)
    } catch (error) {
      if (!(error instanceof UsageError || error instanceof TransportError)) throw error
      const section = sectionFor(file, whole)
      const inner = (whole as Record<string, unknown>)[section] as object
      const lines = text.slice(0, fieldAt(places, inner, name)?.at ?? 0).split('\n')
      const where = `${file}:${lines.length}:${(lines.at(-1) ?? '').length + 1}`
      fail(`${where}: ${section}.${oneLine(name)}: ${problemOf(error)}`)
    }
  }
}

function sectionIn(whole: unknown): JsonObject {
  return isObject(whole) && isObject(whole.caduceus) ? whole.caduceus : {}
}

/** That of a file that is broken is empty. */
function sectionBefore(file: string, text: string | undefined): JsonObject {
  try {
    return text === undefined ? {} : sectionIn(parseJsonc(text, file))
  } catch (error) {
    if (error instanceof UsageError) return {}
    throw error
  }
}

function isAlike(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** The servers of before; of a file that has none, none. */
function entriesIn(file: string, text: string): readonly FoundServer[] {
  try {
    return serversIn(file, text, () => {})
  } catch (error) {
    if (error instanceof UsageError) return []
    throw error
  }
}

/** As `serve` does before it starts one. */
function checkEntry(entry: FoundServer['entry'], invocation: Invocation): void {
  if (entry.openapi === undefined) connectionOf(checked(entry), invocation, undefined, 'none')
}

/** Variables have a value where the file is used, and perhaps not here. */
function filledForCheck(value: unknown): unknown {
  if (typeof value === 'string')
    return value.replace(/\$\{([^}]+)\}/g, (_, inner: string) => /:-(.*)$/s.exec(inner)?.[1] ?? placeholder)
  if (Array.isArray(value)) return value.map(filledForCheck)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, filledForCheck(one)]))
}
