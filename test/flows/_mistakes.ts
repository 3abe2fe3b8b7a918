import { type Client, startClient, withClient } from 'caduceus/client'
import { http, serveHttp, sse, stdio, websocket } from 'caduceus/transports'

/** What somebody who makes a mistake works with. */
export interface Desk {
  readonly url: string
  readonly client: Client
}

/** What was done wrong, the code of the error, and what its message says: what was wrong, where, and what to do. */
export type Mistake = readonly [
  what: string,
  code: string | number,
  says: readonly string[],
  make: (desk: Desk) => unknown,
]

const quick = { logger: false, timeout: 8_000, backoff: { base: 20, cap: 50 } } as const
const node = process.execPath
const at = (url: string, path: string): string => new URL(path, url).href
/** One task with a server that cannot be reached in this way. */
export const once = (transport: Parameters<typeof startClient>[0]['transport']): Promise<unknown> =>
  withClient({ ...quick, transport }, (client) => client.listTools())

/** What goes wrong between a client and its server. */
export const mistakesOfTransports: readonly Mistake[] = [
  [
    'a command line for options',
    'BAD_OPTION',
    ["options: expected an object, as in stdio({ command: 'node', args: ['server.js'] }), got \"node x\""],
    () => stdio('node x' as never),
  ],
  [
    'a number in the environment of a program',
    'BAD_OPTION',
    ['env.PORT: expected a string without NUL, in quotes also if it is a number, got "number"'],
    () => stdio({ command: node, env: { PORT: 3000 as never } }),
  ],
  [
    'an address without its path',
    'CONNECT_FAILED',
    ['status 404', 'most servers have their endpoint at /mcp'],
    ({ url }) => once(http(at(url, '/'))),
  ],
  [
    'an address with a path that is misspelt',
    'CONNECT_FAILED',
    ['/mpc answered with status 404', '/mcp'],
    ({ url }) => once(http(at(url, '/mpc'))),
  ],
  [
    'a server that is not there',
    'NOT_READY',
    [
      'client client was not ready within 8000 ms',
      'attempts',
      'http://127.0.0.1:9/mcp cannot be reached',
      'ECONNREFUSED',
    ],
    () => once(http('http://127.0.0.1:9/mcp')),
  ],
  [
    'an address without a scheme',
    'BAD_OPTION',
    ['url: expected http:// before it, as in http://localhost:3000/mcp, got "localhost:3000/mcp"'],
    () => http('localhost:3000/mcp'),
  ],
  [
    'a path instead of an address',
    'BAD_OPTION',
    ['url: ', 'such as http://localhost:3000/mcp', '"/mcp"'],
    () => http('/mcp'),
  ],
  [
    'an address of WebSocket for http',
    'BAD_OPTION',
    ['url: ', 'of websocket() this one', 'ws:'],
    () => http('ws://host/mcp'),
  ],
  [
    'an address of http for WebSocket',
    'BAD_OPTION',
    ['url: ', 'of http() this one', 'http:'],
    () => websocket('http://host/mcp'),
  ],
  ['an address that is no string', 'BAD_OPTION', ['url: ', 'address'], () => sse(7 as never)],
  [
    'a token with its scheme',
    'BAD_OPTION',
    ['auth: expected the token alone', 'Bearer is put before it'],
    ({ url }) => http(url, { auth: 'Bearer abc' }),
  ],
  [
    'a header with a space in its name',
    'BAD_OPTION',
    ['headers: expected names of HTTP headers', '"my header"'],
    ({ url }) => http(url, { headers: { 'my header': 'x' } }),
  ],
  [
    'a header that the transport sets',
    'BAD_OPTION',
    ['headers.mcp-session-id', 'that the transport does not set itself'],
    ({ url }) => http(url, { headers: { 'mcp-session-id': 'x' } }),
  ],
  [
    'an address as transport',
    'BAD_OPTION',
    ['transport: expected what stdio() or http() returns', 'http(address)'],
    ({ url }) => startClient({ transport: url as never }),
  ],
  [
    'an address in place of options',
    'BAD_OPTION',
    ['options: expected an object, as in startClient({ transport: http(address) }), got "http'],
    ({ url }) => startClient(url as never),
  ],
  [
    'the transport of a server',
    'BAD_OPTION',
    ['transport: ', 'not what a server listens with'],
    () => startClient({ transport: serveHttp() as never }),
  ],
  [
    'an option that is misspelt',
    'BAD_OPTION',
    ['timeuot', 'did you mean "timeout"?'],
    ({ url }) => startClient({ transport: http(url), timeuot: 5 } as never),
  ],
  [
    'a script that is not there',
    'NOT_READY',
    ['exited with code 1', 'Error: Cannot find module', 'nope.js'],
    () => once(stdio({ command: node, args: ['nope.js'] })),
  ],
  [
    'a program that throws',
    'NOT_READY',
    ['exited with code 1', 'it said: TypeError: no such setting'],
    () => once(stdio({ command: node, args: ['-e', 'throw new TypeError("no such setting")'] })),
  ],
  [
    'a server that logs on its standard output',
    'NOT_READY',
    [
      'initializing',
      'wrote what is no message of MCP',
      '"listening on 3000"',
      'logs belong on its standard error',
    ],
    () =>
      once(
        stdio({ command: node, args: ['-e', 'console.log("listening on 3000"); process.stdin.resume()'] }),
      ),
  ],
  [
    'a command that is not there',
    'CONNECT_FAILED',
    ['command not found: no-such-command', 'not in PATH'],
    () => once(stdio({ command: 'no-such-command' })),
  ],
  [
    'a command with its arguments',
    'CONNECT_FAILED',
    ['command not found: node server.js', 'arguments belong in args'],
    () => once(stdio({ command: 'node server.js' })),
  ],
  [
    'arguments as one text',
    'BAD_OPTION',
    ['args: expected an array of strings', '"-y server"'],
    () => stdio({ command: 'npx', args: '-y server' as never }),
  ],
  [
    'a variable that is no text',
    'BAD_OPTION',
    ['env.PORT: expected a string'],
    () => stdio({ command: 'npx', env: { PORT: 3000 } as never }),
  ],
]
