/** What a listener is given by a server that a test makes of what serves. */
export type { ExchangeAnswer, ExchangeCall } from '../../transports/inbound/exchange-call.js'
export { serverPort } from '../../transports/inbound/port.js'
export type { Services } from '../../transports/inbound/services.js'
