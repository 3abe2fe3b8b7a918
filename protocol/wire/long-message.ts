import { type InvalidMessage, isRequestId, type RequestId } from './jsonrpc.js'

/** Bytes of its beginning, and of its end, that are kept of a message too long to be read. */
export const keptOfLong = 1_024

/** What a top-level key says of the message. */
const kindOfKey: { readonly [key: string]: 'call' | 'response' } = {
  method: 'call',
  params: 'call',
  result: 'response',
  error: 'response',
}
const lastMembers =
  /[,{]\s*"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)\s*((?:,\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*)*)\}\s*$/
const lastMethod = /[,{]\s*"method"\s*:\s*"[^"\\]*"\s*(?:,\s*"jsonrpc"\s*:\s*"[^"\\]*"\s*)?\}\s*$/

/**
 * What the beginning and the end of a message tell: request or answer, and its id. Libraries write the id
 * first or last; one in the middle is not found.
 */
export function describeLong(head: string, tail: string): InvalidMessage {
  const { id: first, kind, method } = readHead(head)
  const found = lastMembers.exec(tail)
  const id = found?.[1] === undefined ? first : readId(found[1])
  const isCall = kind === 'call' || found?.[2]?.includes('"method"') || lastMethod.test(tail)
  if (kind === 'response') return id === undefined ? { about: 'response' } : { about: 'response', id }
  if (id !== undefined) return { about: isCall ? 'request' : 'unknown', id }
  return { about: isCall && method?.startsWith('notifications/') === true ? 'notification' : 'unknown' }
}

interface Head {
  id?: RequestId | undefined
  kind?: 'call' | 'response' | undefined
  method?: string
}

const token = /\s*("(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+(?=[\s,}\]]))/y

/** Reads the top-level keys of the beginning, token by token, as far as it goes. */
function readHead(head: string): Head {
  const found: Head = {}
  let depth = 0
  /** The top-level key whose value comes next. */
  let key: string | undefined
  let last = ''
  token.lastIndex = 0
  for (let next = token.exec(head)?.[1]; next !== undefined; next = token.exec(head)?.[1]) {
    if (depth === 1 && next === ':') {
      key = readText(last)
      found.kind ??= Object.hasOwn(kindOfKey, key ?? '') ? kindOfKey[key ?? ''] : undefined
    } else if (depth === 1 && last === ':') {
      if (key === 'id') found.id = readId(next)
      const text = key === 'method' ? readText(next) : undefined
      if (text !== undefined) found.method = text
    }
    if (next === '{' || next === '[') depth += 1
    else if (next === '}' || next === ']') depth -= 1
    // an array is a batch, of which nothing can be told as a whole
    if (depth === 0 || (depth === 1 && next === '[')) break
    last = next
  }
  return found
}

function readId(text: string): RequestId | undefined {
  const value = parse(text)
  return isRequestId(value) ? value : undefined
}

function readText(text: string): string | undefined {
  const value = parse(text)
  return typeof value === 'string' ? value : undefined
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
