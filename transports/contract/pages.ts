import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Principal } from './principal.js'

/** What a server has for the browsers of people, at listeners that have an address. */
export interface ServerPages {
  /** Whether a path is one of its own. */
  has(path: string): boolean
  /** Answers a request for such a path. */
  take(request: IncomingMessage, response: ServerResponse, visitor: PageVisitor): void
  /** Hears with which token somebody was let in. Absent: nobody needs it. */
  readonly heard?: ((principal: Principal, token: string) => void) | undefined
}

/** Who asks for a page. */
export interface PageVisitor {
  readonly address: string | undefined
  /**
   * Whether the browser has shown that it is that of the principal. False: it was sent to show it, and comes
   * back to the path. Absent: nobody signs in here with a browser.
   */
  readonly shows?:
    | ((
        principal: Principal,
        request: IncomingMessage,
        response: ServerResponse,
        path: string,
      ) => Promise<boolean>)
    | undefined
  /** Whether the principal has not been signed out since. Absent: nobody signs in here with a browser. */
  readonly isSignedIn?: ((principal: Principal) => Promise<boolean>) | undefined
}
