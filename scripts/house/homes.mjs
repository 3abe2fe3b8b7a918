// Which package and which part of node may be used where; the only place to change when a package gets a second home.

/** Package name to the files (without extension) that may import it. */
export const homes = new Map([
  ['pino', /^runtime\/faults\/log$/],
  ['xstate', /-machine$|watch\/inspector$/],
  ['undici', /^transports\/http\/outgoing\/dispatcher$/],
  ['ws', /^transports\/websocket\/[\w-]+$/],
  ['ajv', /^protocol\/schema\/check$/],
  ['@cfworker/json-schema', /^protocol\/schema\/(?:interpreted|light)$/],
  ['eventsource-parser', /^protocol\/wire\/sse$/],
  ['jose', /^(?:transports\/auth\/(?:keys|jwt-check|proof-check)|client\/auth\/proofs)$/],
  ['minisearch', /^server\/gateway\/tool-index$/],
  ['oauth4webapi', /^(?:client\/auth\/library|transports\/authorization\/provider-login)$/],
  ['oidc-provider', /^transports\/authorization\/(?:server|adapter|refresh-chains)$/],
  ['@opentelemetry/api', /^otel$/],
  ['ioredis', /^transports\/redis\/(?:connection|line)$/],
  ['yaml', /^(?:protocol\/skills\/yaml|server\/openapi\/yaml)$/],
  ['@apidevtools/json-schema-ref-parser', /^server\/openapi\/load$/],
  ['nanoid', /^runtime\/time\/world$/],
  // the command is a program like any other: it uses what the package exports, as its users' modules do
  ['caduceus', /^command\//],
])

const network = ['child_process', 'dgram', 'http', 'http2', 'https', 'net', 'tls']

/** Floor to the node modules it may not import: `protocol/` is pure, and all I/O with the far side lives in `transports/`. */
export const closedToFloor = {
  runtime: ['dgram', 'http', 'http2', 'https', 'net', 'tls'],
  protocol: 'all',
  transports: [],
  server: network,
  client: network,
  // a program may ask Node what is wrong with a module
  command: network.filter((name) => name !== 'child_process'),
}

/** Floor to the floors it may import besides itself. */
export const below = {
  runtime: [],
  protocol: [],
  transports: ['runtime', 'protocol'],
  server: ['transports', 'runtime', 'protocol'],
  client: ['transports', 'runtime', 'protocol'],
  command: ['client', 'server', 'transports', 'runtime', 'protocol'],
}
