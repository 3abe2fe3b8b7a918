import type { RequestId } from '../../../protocol/wire/jsonrpc.js'

/** Knows the answer to one request among the messages of its stream. */
export interface AnswerWatch {
  /** Whether it has come. */
  readonly seen: boolean
  /** Takes one message, and says whether the answer has come. */
  sees(text: string): boolean
}

/** A watch for the answer to this request, mostly without parsing what comes. */
export function createAnswerWatch(id: RequestId): AnswerWatch {
  const marks = [`"id":${JSON.stringify(id)}`, `"id": ${JSON.stringify(id)}`]
  let seen = false
  return {
    get seen() {
      return seen
    },
    sees(text: string): boolean {
      const may = marks.some((mark) => text.includes(mark))
      seen ||= may && (!text.includes('"method"') || isAnswer(text, id))
      return seen
    },
  }
}

/** A result may well have a `method` in it. */
function isAnswer(text: string, id: RequestId): boolean {
  try {
    const value: unknown = JSON.parse(text)
    const all = (Array.isArray(value) ? value : [value]) as { id?: unknown; method?: unknown }[]
    return all.some((one) => one.id === id && one.method === undefined)
  } catch {
    return false
  }
}
