import { messageOf } from '../../runtime/base/errors.js'
import type { ClientTransport, LinkEvents } from '../../transports/contract/contract.js'
import { TransportError } from '../../transports/base/errors.js'

/** Shorter values are no secrets, and parts of many words. */
const shortest = 4

/**
 * The same transport, whose errors and facts say `${NAME}` where a value stands, also as a part of an address.
 * `values`: names by values.
 */
export function veiled(transport: ClientTransport, values: ReadonlyMap<string, string>): ClientTransport {
  const text = veilOf(values)
  if (values.size === 0) return transport

  function facts(given: unknown): unknown {
    if (typeof given === 'string') return text(given)
    if (Array.isArray(given)) return given.map(facts)
    if (typeof given !== 'object' || given === null) return given
    if (given instanceof Error) return errorOf(given)
    return Object.fromEntries(Object.entries(given).map(([key, value]) => [key, facts(value)]))
  }

  function errorOf(error: Error): Error {
    const { code, retryable, data, cause } = error as Partial<TransportError>
    const why = cause === undefined ? {} : { cause: facts(cause) }
    if (!(error instanceof TransportError))
      return Object.assign(new Error(text(messageOf(error)), why), { code })
    return new TransportError(code as never, text(error.message), {
      retryable: retryable === true,
      data: facts(data),
      ...why,
    })
  }

  const veil = (events: LinkEvents): LinkEvents => ({
    opened: (detail) => events.opened(facts(detail) as typeof detail),
    message: (message) => events.message(message),
    lost: (id, error) => events.lost(id, errorOf(error) as TransportError),
    trouble: (error) => events.trouble(errorOf(error) as TransportError),
    missed: () => events.missed(),
    room: () => events.room(),
    closed: ({ error, ...end }) =>
      events.closed({ ...end, ...(error !== undefined && { error: errorOf(error) as TransportError }) }),
  })
  return Object.freeze({
    ...transport,
    connect: async (events, scope) => {
      try {
        return await transport.connect(veil(events), scope)
      } catch (error) {
        throw error instanceof Error ? errorOf(error) : error
      }
    },
  } satisfies ClientTransport)
}

/** Writes `${NAME}` where a value stands. */
export function veilOf(values: ReadonlyMap<string, string>): (text: string) => string {
  const forms = new Map<string, string>()
  for (const [value, name] of values)
    for (const form of [value, ...addressForms(value)])
      if (Math.min(value.length, form.length) >= shortest) forms.set(form, `\${${name}}`)
  // a short one may be a part of a long one, which would not be found any more
  const all = [...forms].sort(([one], [other]) => other.length - one.length)
  return (given) => all.reduce((rest, [value, name]) => rest.replaceAll(value, name), given)
}

/** As it stands in an address that was read. */
function addressForms(value: string): string[] {
  const ways = [encodeURI, encodeURIComponent, (text: string) => text.toLowerCase(), inPath, inQuery]
  return ways.flatMap((way) => {
    try {
      return [way(value)]
    } catch {
      return [] // half a character: no address has it
    }
  })
}

/** What an address escapes in its path is less than what `encodeURI` does, and more. */
function inPath(value: string): string {
  const { pathname } = Object.assign(new URL('http://a'), { pathname: value })
  return whole(value.startsWith('/') ? pathname : pathname.slice(1), value)
}

function inQuery(value: string): string {
  return whole(Object.assign(new URL('http://a'), { search: value }).search.slice(1), value)
}

/** The form, unless it has lost a part, as `..` has in a path. */
function whole(form: string, value: string): string {
  return decodeURIComponent(form) === value ? form : value
}
