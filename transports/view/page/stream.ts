/** What the page is told. */
export interface Heard {
  /** One event of the program. */
  event(name: string, data: string): void
  /** There is no stream: the program is away, or this page may not look. */
  trouble(why: 'refused' | 'full' | 'away'): void
}

/** Milliseconds before the page asks again. */
const pause = 2_000
const key = 'secret'

/**
 * The secret of the address that was opened. It is kept for this tab and this port alone, for a reload, and
 * leaves the address. A cookie would go to every port of this machine.
 */
export function takeSecret(): string {
  const given = new URLSearchParams(location.hash.slice(1)).get(key)
  if (given !== null) {
    sessionStorage.setItem(key, given)
    history.replaceState(null, '', location.pathname)
  }
  return sessionStorage.getItem(key) ?? ''
}

/** How a request says that this page may ask. */
export function asked(secret: string): Record<string, string> {
  return { authorization: `Bearer ${secret}` }
}

/** Reads the events of the program for as long as this page may. */
export async function follow(secret: string, heard: Heard): Promise<void> {
  while (true) {
    const response = await fetch('/events', { headers: asked(secret), credentials: 'omit' }).catch(
      () => undefined,
    )
    const { status = 0, body = null } = response ?? {}
    if (status >= 400 && status !== 503) return heard.trouble('refused')
    // it breaks off when the program ends
    if (status === 200 && body !== null) await read(body, heard).catch(() => {})
    else await body?.cancel().catch(() => {})
    heard.trouble(status === 503 ? 'full' : 'away')
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}

async function read(body: ReadableStream<Uint8Array>, heard: Heard): Promise<void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const events = (rest + decoder.decode(piece.value, { stream: true })).split('\n\n')
    rest = events.pop() ?? ''
    for (const event of events) {
      const [, name = '', data] = /^event: (\w+)\ndata: (.*)$/s.exec(event) ?? []
      if (data !== undefined) heard.event(name, data)
    }
  }
}
