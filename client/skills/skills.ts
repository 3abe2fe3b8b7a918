import { missingCapability } from '../../protocol/dialects/capabilities.js'
import type { Resource } from '../../protocol/messages/content.js'
import type { Method, Params, Result } from '../../protocol/messages/methods.js'
import { callError } from '../base/errors.js'
import { readArgument } from '../base/read-options.js'
import type { CallOptions } from '../options/call-options.js'
import { allPages, type PagesOptions, readPageOptions } from '../requests/pages.js'
import type { ClientParts } from '../requests/parts.js'
import { onceReady } from '../requests/ready.js'
import type { Requests } from '../requests/requests.js'
import { Skill } from './skill.js'

/** The skills of a server (SEP-2640). Nothing is asked of one that has not declared them. */
export class Skills {
  readonly #parts: ClientParts
  readonly #requests: Requests

  constructor(parts: ClientParts, requests: Requests) {
    this.#parts = parts
    this.#requests = requests
  }

  all(options: PagesOptions): AsyncGenerator<Skill, void, undefined> {
    return allPages(
      'skills/list',
      options,
      (given) => {
        const { page, call } = readPageOptions(given, [])
        return this.#ask('skills/list', page, call)
      },
      ({ skills }) => skills.map((entry) => new Skill(entry, this.#read)),
    )
  }

  async get(given: string, options: CallOptions | undefined): Promise<Skill> {
    const uri = readArgument(given, 'uri', "getSkill('skill://a-skill/SKILL.md')")
    const { skill } = await this.#ask('skills/get', { uri }, options)
    if (skill.uri === uri) return new Skill(skill, this.#read)
    const text = `skills/get: the server answered with another skill than ${uri.slice(0, 200)}`
    throw callError('INVALID_RESPONSE', text, { sent: true, retryable: false })
  }

  directory(given: string, options: PagesOptions): AsyncGenerator<Resource, void, undefined> {
    return allPages(
      'resources/directory/read',
      options,
      async (one) => {
        const uri = readArgument(given, 'uri', "readDirectory('skill://a-skill/templates')")
        const { page, call } = readPageOptions(one, [])
        return this.#ask('resources/directory/read', { uri, ...page }, call)
      },
      ({ resources }) => resources,
    )
  }

  async #ask<M extends Method>(
    method: M,
    params: Params<M>,
    options: CallOptions | undefined,
  ): Promise<Result<M>> {
    const left = await onceReady(this.#parts, method, options)
    const { server } = this.#parts.holdings
    const missing = missingCapability(method, server?.capabilities ?? {})
    if (missing === undefined)
      return (await this.#requests.make(method, params, left)) as unknown as Result<M>
    const text = `${method}: ${server?.info.name} has not declared ${missing}`
    throw callError('NOT_SUPPORTED', text, { sent: false, retryable: false })
  }

  readonly #read = async (uri: string, options: CallOptions | undefined) => {
    const { cache, world } = this.#parts.holdings
    const wasKept = cache.has('resources/read', { uri }, world.now())
    const result = await this.#requests.make('resources/read', { uri }, options)
    return { result: result as unknown as Result<'resources/read'>, wasKept }
  }
}
