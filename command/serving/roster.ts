import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { type Client, type ClientTransport, oauth, startClient } from 'caduceus'
import type { Seat, StartedUpstream, Upstreams } from 'caduceus/server'
import { veiled, veilOf } from '../../client/fleet/veil.js'
import { isObject } from '../../protocol/wire/json.js'
import { messageOf } from '../../runtime/base/errors.js'
import { aboutServer } from '../base/failure.js'
import { type FoundServer, mostOfHost, serversIn } from '../hosts/host-files.js'
import type { Invocation } from '../base/invocation.js'
import { oneLine, tell } from '../terminal/screen.js'
import { checked, connectionOf, filled } from '../connection/target.js'
import { UsageError } from '../base/usage-error.js'
import { startApi } from '../connection/openapi.js'
import { type Overrides, readSettings } from './settings.js'
import { checkLogin, readTeamFile, type TeamFile, type TeamMember } from './team-file.js'

/** A server of the file, and how it is reached. */
interface Member {
  /** Its entry in the file, to see changes. */
  readonly text: string
  /** What the section `caduceus` says of it, for the same. */
  readonly optionsText: string
  /** How its users sign in, for the same. */
  readonly loginText: string
  readonly upstream: StartedUpstream
}

/** The servers of a host's file, for a gateway, which starts and closes their clients. */
export class Roster implements Upstreams {
  readonly #file: string
  readonly #invocation: Invocation
  readonly #overrides: Overrides
  readonly #listeners = new Set<(name: string) => void>()
  /** Those that have been started, and have not ended. */
  readonly #clients = new Set<Client>()
  #members: ReadonlyMap<string, Member> = new Map()
  #team: TeamFile | undefined
  /** How often all was to be read again. */
  #asked = 0
  /** Where the program itself serves, once it does. */
  #own: string | undefined
  /** The last read of the file; the next one waits for it. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(file: string, invocation: Invocation) {
    this.#file = file
    this.#invocation = invocation
    this.#overrides = readSettings(invocation, process.env)
  }

  get names(): readonly string[] {
    return [...this.#members.keys()]
  }

  /** What the section `caduceus` of the file says. Throws before the file was read. */
  get team(): TeamFile {
    if (this.#team === undefined) throw new UsageError(`${this.#file} was not read yet`)
    return this.#team
  }

  has(name: string): boolean {
    return this.#members.has(name)
  }

  get(name: string): StartedUpstream {
    const member = this.#members.get(name)
    if (member === undefined) throw new UsageError(`${this.#file} has no server ${name}`)
    return member.upstream
  }

  onState(fn: (name: string) => void): () => void {
    this.#listeners.add(fn)
    return () => void this.#listeners.delete(fn)
  }

  async close(): Promise<void> {
    this.#listeners.clear()
  }

  /** Ends what was started, and resolves once it has ended: a child that does not end by itself is killed. */
  async ended(): Promise<void> {
    await Promise.allSettled([...this.#clients].map((client) => client.close()))
  }

  /**
   * Makes the servers what the file says now; resolves with what has changed, in words. An entry that is
   * wrong is told, and its server stays as it was. Rejects with UsageError where the whole file is wrong:
   * nothing has changed then. Documents of APIs count with the file; `again`: those at an address as well.
   */
  read(again = false): Promise<string> {
    if (again) this.#asked += 1
    const read = this.#last.then(() => this.#read())
    this.#last = read.catch(() => {})
    return read
  }

  /** From the next read on a server at this address, the program's own, is left out: all of it would come back. */
  leaveOut(own: string): void {
    this.#own = own
  }

  async #read(): Promise<string> {
    const text = await textOf(this.#file)
    const before = this.#members
    const members = new Map<string, Member>()
    const all = serversIn(this.#file, text, tell)
    const names = all.map(({ name }) => name)
    const fill = (part: FoundServer) => filled(part, this.#invocation)
    const read = await readTeamFile(this.#file, text, names, fill, this.#overrides)
    // nobody is let in by what a file does not say any more
    const isOpened = this.#team?.tokens !== undefined && read.tokens === undefined
    if (isOpened)
      tell(`${this.#file} has no caduceus.tokens any more: those of before count until the next start`)
    const team = isOpened ? { ...read, tokens: this.#team?.tokens } : read
    for (const found of all) {
      if (found.isDisabled) continue
      const options = { ...(team.idle !== undefined && { idle: team.idle }), ...team.servers.get(found.name) }
      const member = await this.#member(found, options, before.get(found.name))
      if (member !== undefined) members.set(found.name, member)
    }
    const hasTokensChanged = this.#team !== undefined && textOfTokens(this.#team) !== textOfTokens(team)
    this.#members = members
    this.#team = team
    const gone = [...before.keys()].filter((name) => !members.has(name))
    const come = [...members].filter(([name, member]) => before.get(name) !== member).map(([name]) => name)
    for (const name of [...gone, ...come]) for (const fn of this.#listeners) fn(name)
    return [
      ...gone.map((name) => `${oneLine(name)} has gone`),
      ...come.map((name) => `${oneLine(name)} has ${before.has(name) ? 'changed' : 'come'}`),
      ...(hasTokensChanged ? ['caduceus.tokens has changed'] : []),
    ].join(', ')
  }

  /** The member for an entry: that of before, where nothing has changed or the entry is wrong. */
  async #member(
    found: FoundServer,
    options: TeamMember,
    before: Member | undefined,
  ): Promise<Member | undefined> {
    const { name } = found
    const values = new Map<string, string>()
    try {
      const entry = await filled(found, this.#invocation, (value, variable) => values.set(value, variable))
      if (isSameAddress(entry.url, this.#own)) {
        const why = 'this is the address of this program, whose tools would come back to it'
        tell(oneLine(`${aboutServer(name, why)}; it is left out`))
        return undefined
      }
      const version = await this.#versionOf(found, entry, before)
      const [text, optionsText] = [JSON.stringify(entry) + version, JSON.stringify(options)]
      const isSame = text === before?.text
      if (isSame && optionsText === before.optionsText) return before
      const usual = { lazy: this.#invocation.values.lazy === true }
      if (isSame) {
        // what is offered of it changes, and it goes on
        const start =
          loginTextOf(options) === before.loginText
            ? before.upstream.start
            : this.#startOf(found, entry, options, values)
        return memberOf({ text, optionsText, entry, options }, usual, start)
      }
      const start = this.#startOf(found, entry, options, values)
      return memberOf({ text, optionsText, entry, options }, usual, start)
    } catch (error) {
      const outcome = before === undefined ? 'it is left out' : 'it stays as it was'
      tell(oneLine(`${aboutServer(name, veilOf(values)(messageOf(error)))}; ${outcome}`))
      return before && withRights(before, options)
    }
  }

  /**
   * What changes when the document of an API does: its contents, or, as nobody knows what stands at an address,
   * how often it was to be read again. One that cannot be read is told where its server starts, or else stays as
   * it was.
   */
  async #versionOf(
    { file }: FoundServer,
    { openapi }: FoundServer['entry'],
    before: Member | undefined,
  ): Promise<string> {
    if (typeof openapi !== 'string') return ''
    if (/^https?:/i.test(openapi)) return String(this.#asked)
    const text = textOf(resolve(dirname(file), openapi))
    const known = before === undefined ? await text.catch(() => '') : await text
    return createHash('sha256').update(known).digest('hex')
  }

  #startOf(
    found: FoundServer,
    entry: FoundServer['entry'],
    options: TeamMember,
    values: ReadonlyMap<string, string>,
  ): StartedUpstream['start'] {
    checkLogin(found.name, entry, options)
    if (entry.openapi === undefined) return this.#loginStarter(found.name, entry, options, values)
    return this.#apiStarter(found, entry)
  }

  /** An API has no connection that could be lost: its server is here. */
  #apiStarter({ name, file }: FoundServer, entry: FoundServer['entry']): StartedUpstream['start'] {
    const { verbose } = this.#invocation.values
    return ({ answers }) =>
      startApi(name, entry, dirname(file), {
        ...answers(),
        ...(verbose !== true && { logger: false as const }),
      }).catch((error: unknown) => {
        tell(oneLine(aboutServer(name, messageOf(error))))
        throw error
      })
  }

  /** Each user has a connection of their own where they sign in; others share what is known of it. */
  #loginStarter(
    name: string,
    entry: FoundServer['entry'],
    { auth, oauth: login = {} }: TeamMember,
    values: ReadonlyMap<string, string>,
  ): StartedUpstream['start'] {
    const own = checked(entry)
    if (auth === undefined) {
      const transport = veiled(connectionOf(own, this.#invocation).transport, values)
      return this.#starterOf(name, () => transport)
    }
    // what is wrong with the address is told now
    connectionOf(own, this.#invocation, undefined, 'none')
    return this.#starterOf(name, (seat) => {
      const credentials = auth === 'oauth' ? oauth({ ...seat.login(), ...login }) : seat.token
      return veiled(connectionOf(own, this.#invocation, undefined, credentials).transport, values)
    })
  }

  #starterOf(name: string, transportFor: (seat: Seat) => ClientTransport): StartedUpstream['start'] {
    const { verbose } = this.#invocation.values
    const last = { problem: '' }
    return (seat) => {
      const { answers } = seat
      const transport = transportFor(seat)
      const client = startClient({
        ...answers(),
        name,
        transport,
        era: 'auto',
        probeTimeout: 2_000,
        // one that is frozen, or busy in one go, is given up after two minutes at most
        health: { every: 30_000, misses: 3 },
        ...(verbose !== true && { logger: false as const }),
      })
      this.#clients.add(client)
      client.onState(({ phase, reason, attempt }) => {
        if (phase === 'closed') this.#clients.delete(client)
        if (phase === 'ready') last.problem = ''
        // once, and not at each attempt
        const isNews = phase === 'failed' || (phase === 'disconnected' && attempt === 1)
        if (!isNews || reason === undefined || last.problem === reason.message) return
        last.problem = reason.message
        tell(oneLine(aboutServer(name, messageOf(reason))))
      })
      return client
    }
  }
}

/** The usual names of this machine are one: another address of it is another server's. */
function isSameAddress(url: unknown, own: string | undefined): boolean {
  if (own === undefined || typeof url !== 'string' || !URL.canParse(url)) return false
  const [one, other] = [url, own].map((text) => {
    const { hostname, port, pathname } = new URL(text)
    return `${here.has(hostname) ? 'here' : hostname}:${port}${pathname}`
  })
  return one === other
}

const here: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

interface MemberFacts extends Pick<Member, 'text' | 'optionsText'> {
  readonly entry: FoundServer['entry']
  readonly options: TeamMember
}

function memberOf(
  { text, optionsText, entry, options }: MemberFacts,
  usual: Pick<StartedUpstream, 'lazy'>,
  start: StartedUpstream['start'],
): Member {
  const { oauth: _, auth, ...known } = options
  const login =
    isObject(auth) && auth.exchange.resource === undefined && auth.exchange.audience === undefined
      ? { exchange: { ...auth.exchange, resource: String(entry.url) } }
      : auth
  return {
    ...{ text, optionsText, loginText: loginTextOf(options) },
    upstream: { ...usual, ...known, ...(login !== undefined && { auth: login }), start },
  }
}

/**
 * The same server, with what the file says now of who may use what: an entry that is wrong must not keep that
 * back.
 */
function withRights(before: Member, { options }: TeamMember): Member {
  const { options: had } = before.upstream
  if (JSON.stringify(had) === JSON.stringify(options)) return before
  // once the entry is right, all of it is looked at again
  return { ...before, optionsText: '', upstream: { ...before.upstream, options: options ?? {} } }
}

function loginTextOf({ oauth, auth }: TeamMember): string {
  return JSON.stringify([oauth, auth])
}

/** What tells apart who may come in. */
function textOfTokens({ tokens }: TeamFile): string {
  return JSON.stringify(tokens && [...tokens])
}

/**
 * Of a file, and of nothing that may never end, or never begin: a pipe that took its place would hold the
 * program.
 */
async function textOf(path: string): Promise<string> {
  try {
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    try {
      const facts = await file.stat()
      if (facts.size > mostOfHost) throw new UsageError(`${path} has more than ${mostOfHost} bytes`)
      if (facts.isFile()) return await file.readFile('utf8')
    } finally {
      await file.close()
    }
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  throw new UsageError(`${path} is no file`)
}
