import type { World } from '../../runtime/time/world.js'
import type { TokenExchange, TokenExchangeOptions } from '../../transports/auth/token-exchange.js'
import { isUpstreamPath } from '../../transports/authorization/paths.js'
import type { FinishLogin, UpstreamLogins } from '../../transports/authorization/upstream-logins.js'
import type { Binding } from '../../transports/contract/contract.js'
import type { ServerPages } from '../../transports/contract/pages.js'
import type { Principal } from '../../transports/contract/principal.js'
import type { Values } from '../../transports/contract/values.js'
import { optionError } from '../base/errors.js'
import type { GatewayModules } from '../definitions/gateway-options.js'

interface GatewayLoginsInput {
  readonly modules: GatewayModules
  /** Undefined: the engine keeps no logins. */
  readonly values: Values | undefined
  readonly world: World
  readonly name: string
  readonly binding: Binding
  readonly origin: string | undefined
}

/** Logins of users at the servers behind a gateway. It outlives the actor that watches these. */
export class GatewayLogins {
  readonly pages: ServerPages
  readonly #input: GatewayLoginsInput
  #logins: UpstreamLogins | undefined
  #exchange: TokenExchange | undefined
  #finish: FinishLogin | undefined

  constructor(input: GatewayLoginsInput) {
    this.#input = input
    const exchange = (): TokenExchange | undefined => this.#exchange
    this.pages = {
      has: isUpstreamPath,
      take: (request, response, visitor) => {
        this.open().then(
          ({ pages }) => pages.take(request, response, visitor),
          () => response.writeHead(404, { 'content-length': '0' }).end(),
        )
      },
      get heard() {
        // of who has signed in here the provider knows another one
        const known = input.binding.credentials === undefined ? exchange() : undefined
        return known && ((principal: Principal, token: string) => known.heard(principal, token))
      },
    }
  }

  /** Gets tokens for what a user comes back with. */
  finishBy(finish: FinishLogin): void {
    this.#finish = finish
    if (this.#logins !== undefined) this.#logins.finish = finish
  }

  /** Rejects with BAD_OPTION where the engine keeps no logins. */
  async open(): Promise<UpstreamLogins> {
    const { values, world, name, binding, origin } = this.#input
    if (values === undefined) throw noValues()
    const { UpstreamLogins: Logins } = await this.#input.modules.logins()
    this.#logins ??= new Logins({ values, world, name, site: () => origin ?? binding.site })
    this.#logins.finish = this.#finish
    return this.#logins
  }

  /**
   * Keeps the tokens of callers from now on, to trade them; how to trade that of one. Rejects with BAD_OPTION
   * where the engine keeps no logins.
   */
  async openExchange(options: TokenExchangeOptions, server: string) {
    const { values, world, binding } = this.#input
    if (values === undefined) throw noValues()
    const { TokenExchange: Exchange } = await this.#input.modules.exchange()
    this.#exchange ??= new Exchange(values, world)
    const exchange = this.#exchange
    const { credentials } = binding
    const { signal } = new AbortController()
    // where users have signed in here, their token of the provider is what it knows
    const subject =
      credentials &&
      (async (whose: Principal): Promise<string> => {
        const found = await credentials(whose, undefined, signal)
        return 'accessToken' in found ? found.accessToken : ''
      })
    return (principal: Principal | undefined, refused: string | undefined): Promise<string> =>
      exchange.tokenFor(options, { server, principal, refused, subject })
  }
}

function noValues(): Error {
  return optionError(
    'engine',
    'gateway: auth: expected an engine that keeps logins, which sealed() and records({ shared: true }) do not',
  )
}
