// A browser without a window: it keeps cookies by host and path, follows redirects, and presses buttons.

interface Cookie {
  readonly name: string
  readonly value: string
  readonly path: string
}

/** A page, or where a redirect led that the browser does not follow. */
export interface Page {
  readonly url: URL
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export class Browser {
  readonly #cookies = new Map<string, Map<string, Cookie>>()
  /** Each address that was asked for. */
  readonly visited: URL[] = []

  /** Follows redirects until a page comes, or one leads to an address that `stop` knows. */
  async open(address: string | URL, stop: (url: URL) => boolean = () => false): Promise<Page> {
    return this.#ask(new URL(address), { method: 'GET' }, stop)
  }

  /** Presses a button of the form of a page. */
  press(page: Page, decision: string, stop: (url: URL) => boolean = () => false): Promise<Page> {
    return this.send(page, { decision }, stop)
  }

  /** Sends the form of a page. */
  send(
    page: Page,
    fields: Readonly<Record<string, string>>,
    stop: (url: URL) => boolean = () => false,
  ): Promise<Page> {
    const [, action = page.url.href] = /<form[^>]* action="([^"]+)"/.exec(page.text) ?? []
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: page.url.origin }
    const hidden = page.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)
    const body = new URLSearchParams({
      ...Object.fromEntries([...hidden].map(([, name, value]) => [name, value])),
      ...fields,
    }).toString()
    return this.#ask(new URL(action, page.url), { method: 'POST', body, headers }, stop)
  }

  async #ask(first: URL, how: RequestInit, stop: (url: URL) => boolean): Promise<Page> {
    let [url, init] = [first, how]
    for (let hops = 0; hops < 20; hops += 1) {
      this.visited.push(url)
      const headers = { ...(init.headers as Record<string, string>), cookie: this.cookiesFor(url) }
      const response = await fetch(url, { ...init, headers, redirect: 'manual' })
      this.#keep(url, response.headers.getSetCookie())
      const location = response.headers.get('location')
      if (location === null || response.status < 300 || response.status >= 400) {
        // it runs no script, and no page needs one
        return { url, status: response.status, headers: response.headers, text: await response.text() }
      }
      await response.arrayBuffer()
      url = new URL(location, url)
      init = { method: 'GET' }
      if (stop(url)) return { url, status: response.status, headers: response.headers, text: '' }
    }
    throw new Error(`too many redirects: ${url}`)
  }

  /** Has cookies of another browser, as a host beside the one that they are for may set them. */
  take(other: Browser, isTaken: (name: string) => boolean): void {
    for (const [host, cookies] of other.#cookies) {
      const taken = [...cookies].filter(([, { name }]) => isTaken(name))
      this.#cookies.set(host, new Map([...(this.#cookies.get(host) ?? []), ...taken]))
    }
  }

  cookiesFor({ hostname, pathname }: URL): string {
    const all = this.#cookies.get(hostname) ?? new Map<string, Cookie>()
    return [...all]
      .filter(
        ([, { path }]) => pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`),
      )
      .map(([, { name, value }]) => `${name}=${value}`)
      .join('; ')
  }

  #keep({ hostname }: URL, lines: readonly string[]): void {
    const all = this.#cookies.get(hostname) ?? new Map<string, Cookie>()
    this.#cookies.set(hostname, all)
    for (const line of lines) {
      const [pair = '', ...rest] = line.split(/; */)
      const at = pair.indexOf('=')
      const [name, value] = [pair.slice(0, at), pair.slice(at + 1)]
      const path = rest.find((one) => /^path=/i.test(one))?.slice(5) ?? '/'
      const isOver = value === '' || rest.some((one) => /^expires=Thu, 01 Jan 1970/i.test(one))
      // cookies of one name at several paths are several
      if (isOver) all.delete(`${name} ${path}`)
      else all.set(`${name} ${path}`, { name, value, path })
    }
  }
}
