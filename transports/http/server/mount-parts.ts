// what a mount loads when its server starts, or its first request comes
export { exchangeOf, withKnown } from './mounted.js'
export { HttpSocket } from './port.js'
export { shareLog } from '../streams/shared-log.js'
