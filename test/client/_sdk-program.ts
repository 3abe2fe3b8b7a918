import type { ServerResponse } from 'node:http'

/** The form of the tool `ask`. */
export const sure = {
  type: 'object',
  properties: { sure: { type: 'boolean', default: true } },
} satisfies object as { type: 'object'; properties: { sure: { type: 'boolean'; default: boolean } } }

const responses = new Set<ServerResponse>()
let resolveCut = (): void => {}

/** Resolves with the first `cutAll`. */
export const cut = new Promise<void>((resolve) => {
  resolveCut = resolve
})

/** Keeps a response for `cutAll` until it ends. */
export function closing(response: ServerResponse): void {
  responses.add(response)
  response.on('close', () => responses.delete(response))
}

/** Breaks every connection with a response under way, as a network does, and then answers who asked for it. */
export function cutAll(asked: ServerResponse): void {
  for (const response of responses) response.destroy()
  resolveCut()
  asked.end()
}

/**
 * Keeps events for whoever comes back. The one that comes with SDK 1 finds the stream of an event by its id up to the first `_`, and nothing for
 * `_GET_stream`.
 */
export function makeEventStore() {
  const events: { streamId: string; message: never }[] = []
  return {
    async storeEvent(streamId: string, message: unknown): Promise<string> {
      events.push({ streamId, message: message as never })
      return String(events.length)
    },
    async getStreamIdForEventId(id: string): Promise<string | undefined> {
      return events[Number(id) - 1]?.streamId
    },
    async replayEventsAfter(
      last: string,
      { send }: { send: (id: string, message: never) => Promise<void> },
    ): Promise<string> {
      const stream = events[Number(last) - 1]?.streamId ?? ''
      for (const [index, { streamId, message }] of events.entries())
        if (index >= Number(last) && streamId === stream) await send(String(index + 1), message)
      return stream
    },
  }
}

/** The result of a tool that says something. */
export function text(said: string) {
  return { content: [{ type: 'text' as const, text: said }] as [{ type: 'text'; text: string }] }
}

/** Tells the test something. */
export function tell(what: string): void {
  process.stderr.write(`${what}\n`)
}
