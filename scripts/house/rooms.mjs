// The rooms of the house, and which of them each may import: the architecture as data.
import { posix } from 'node:path'
import { floors } from './sources.mjs'

/**
 * Room to the rooms of its own floor that it may import besides itself, as far as they are listed above it.
 * Files at the root of a floor, its door (`index.ts`) among them, may import all of it, and no room imports
 * them.
 */
export const rooms = {
  runtime: {
    base: [],
    time: ['base'],
    faults: ['base', 'time'],
    watchdog: ['base', 'faults'],
    process: ['base', 'time', 'faults', 'watchdog'],
    groups: ['base', 'process'],
    supervision: ['base', 'faults', 'process'],
    tasks: ['base', 'time', 'faults', 'process', 'supervision'],
    watch: ['base', 'time', 'faults', 'process', 'supervision'],
    peers: ['base', 'time', 'faults', 'process', 'supervision', 'watch'],
  },
  protocol: {
    wire: [],
    schema: ['wire'],
    'uri-template': ['wire'],
    messages: ['wire', 'schema'],
    dialects: ['wire', 'messages'],
    skills: ['wire', 'messages'],
    stateless: ['wire', 'schema', 'messages', 'dialects'],
  },
  transports: {
    base: [],
    contract: ['base'],
    inbound: ['base', 'contract'],
    link: ['base', 'contract'],
    connections: ['base', 'contract'],
    'http/outgoing': ['base', 'contract'],
    'http/client': ['base', 'contract', 'http/outgoing'],
    auth: ['base', 'contract', 'http/outgoing'],
    authorization: ['base', 'contract', 'http/outgoing', 'auth'],
    'http/listen': ['base', 'contract', 'connections', 'auth'],
    'http/streams': ['base', 'contract'],
    'http/server': ['base', 'contract', 'connections', 'auth', 'http/listen', 'http/streams'],
    stdio: ['base', 'contract', 'connections'],
    sse: ['base', 'contract', 'connections', 'auth', 'http/listen'],
    websocket: ['base', 'contract', 'connections', 'auth', 'http/outgoing', 'http/client', 'http/listen'],
    shared: ['base', 'contract', 'connections'],
    view: ['base', 'contract', 'http/listen', 'shared'],
    scripted: ['base', 'contract', 'link'],
    'sign-in': ['base'],
    redis: ['base', 'http/outgoing'],
  },
  server: {
    base: [],
    results: ['base'],
    context: ['base', 'results'],
    definitions: ['base', 'results', 'context'],
    skills: ['base', 'definitions'],
    catalog: ['base', 'context', 'definitions'],
    engine: ['base'],
    cluster: ['base', 'context', 'engine'],
    nodes: ['base', 'context', 'engine', 'cluster'],
    redis: ['base', 'engine', 'cluster', 'nodes'],
    'engine-suite': ['engine', 'nodes'],
    isolation: ['base', 'results', 'context', 'definitions'],
    holdings: ['base', 'context', 'definitions', 'catalog', 'engine', 'cluster', 'nodes', 'isolation'],
    requests: ['base', 'results', 'context', 'definitions', 'catalog', 'engine'],
    runs: ['base', 'context', 'holdings', 'requests'],
    tasks: ['base', 'context', 'definitions', 'catalog', 'engine', 'holdings', 'requests', 'runs'],
    sessions: [
      ...[
        'base',
        'context',
        'definitions',
        'catalog',
        'engine',
        'cluster',
        'holdings',
        'requests',
        'runs',
        'tasks',
      ],
    ],
    subscriptions: ['base', 'context', 'catalog', 'engine', 'cluster', 'holdings', 'tasks', 'sessions'],
    gateway: ['base', 'context', 'definitions', 'catalog', 'holdings', 'subscriptions'],
    openapi: ['base', 'results', 'context', 'definitions', 'gateway'],
    processes: ['base', 'context', 'engine', 'cluster', 'nodes', 'holdings', 'sessions'],
    exchanges: [
      'base',
      'context',
      'definitions',
      'catalog',
      'holdings',
      'requests',
      'runs',
      'tasks',
      'subscriptions',
    ],
  },
  client: {
    base: [],
    options: ['base'],
    holdings: ['base', 'options'],
    calls: ['base', 'options', 'holdings'],
    answers: ['base', 'options', 'holdings'],
    connection: ['base', 'options', 'holdings', 'calls', 'answers'],
    tasks: ['base', 'options', 'holdings', 'calls', 'answers', 'connection'],
    requests: ['base', 'options', 'holdings', 'calls', 'answers', 'connection', 'tasks'],
    skills: ['base', 'options', 'requests'],
    auth: ['base'],
    handle: ['base', 'options', 'holdings', 'connection', 'requests', 'skills'],
    fleet: ['base', 'options', 'requests', 'handle'],
    adapters: ['base', 'options', 'requests', 'handle', 'fleet'],
    pool: ['base', 'options', 'requests', 'handle', 'fleet'],
    share: ['base', 'options', 'holdings', 'requests', 'handle', 'fleet'],
  },
  command: {
    base: [],
    terminal: ['base'],
    hosts: ['base'],
    connection: ['base', 'terminal', 'hosts'],
    serving: ['base', 'terminal', 'hosts', 'connection'],
    commands: ['base', 'terminal', 'hosts', 'connection', 'serving'],
  },
}

/** Floors whose files rest on one another in one order: imports of types make rings there, too. */
export const ordered = ['runtime']

/** Checks a file against the table; returns what is wrong with importing `target`, if anything is. */
export function judgeRoom(path, target) {
  const [from, to] = [roomOf(path), roomOf(target)]
  if (from === undefined || to === undefined || from.floor !== to.floor || from.room === to.room)
    return undefined
  const allowed = rooms[from.floor][from.room]
  if (allowed === undefined || allowed.includes(to.room)) return undefined
  const below = allowed.length === 0 ? 'no other room' : allowed.map((room) => `${room}/`).join(', ')
  return `imports ${target}: ${from.floor}/${from.room}/ may import ${below} of its floor`
}

/** What is wrong with the place of a file: a room that the table does not have. */
export function judgePlace(path) {
  const place = roomOf(path)
  if (place === undefined || place.room === '' || Object.hasOwn(rooms[place.floor], place.room))
    return undefined
  return `${place.floor}/${place.room}/ is no room of the table in scripts/house/rooms.mjs`
}

/**
 * The rows of a floor that name a room below them, or one that is not there: with none, no rooms form a ring.
 */
export function findDisorder(table = rooms) {
  return Object.entries(table).flatMap(([floor, rows]) => {
    const above = new Set()
    return Object.entries(rows).flatMap(([room, allowed]) => {
      const wrong = allowed.filter((name) => !above.has(name))
      above.add(room)
      return wrong.map((name) => `${floor}/${room}: ${name} is not above it`)
    })
  })
}

/** `{ floor, room }` of a file of the library; the room is '' for one that lies at the root of its floor. */
function roomOf(path) {
  const [floor, ...folders] = posix.dirname(path).split('/')
  if (!floors.includes(floor)) return undefined
  const names = Object.keys(rooms[floor])
  const inside = folders.join('/')
  // a folder of a room belongs to that room
  const room = names.find((name) => inside === name || inside.startsWith(`${name}/`)) ?? inside
  return { floor, room }
}
