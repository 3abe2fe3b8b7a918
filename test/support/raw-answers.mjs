// What the raw server does with a message: in a program (`raw-server.mjs`), or in the process of a test.

/** What `--init` and `--discover` are by default. */
export const usual = { init: '2025-11-25', discover: 'hang' }

/**
 * A server with no manners but those of its options; the function that is answered takes a line.
 * `write(text, done)`, `say(line)` and `exit(code)` are what a program does, `who()` tells this server from others,
 * and `own({ send })` gives more tools.
 */
export function createRawServer(options, { write, say, exit, who, own = () => ({}) }) {
  const asked = new Map()
  /** Answers of calls that wait until they are cancelled. */
  const late = []
  let calls = 0
  let probes = 0

  const tools = {
    ...own({ send }),
    echo: ({ text }) => text,
    who,
    count: () => String(++calls),
    hang: () => undefined,
    die({ code = 1, last = 'going down' }) {
      say(last)
      exit(code)
    },
    answerAndDie(_, id) {
      write(line({ id, result: text('last words') }), () => exit(3))
    },
    twice(_, id) {
      send({ id, result: text('first') })
      send({ id, result: text('second') })
    },
    wrongId(_, id) {
      send({ id: 999_999, result: text('stray') })
      send({ id: String(id), result: text('a string') })
      return 'right'
    },
    junk() {
      write('this is no JSON\n[]\n{"jsonrpc":"2.0"}\n\xff\n', 'latin1')
      return 'after the junk'
    },
    tellMany({ count, text: data }, id) {
      const one = line({ method: 'notifications/message', params: { level: 'info', data } })
      const rest = [...Array(Math.ceil(count / 1_000)).keys()]
      const next = () => {
        if (rest.pop() === undefined) return send({ id, result: text('told') })
        write(one.repeat(1_000), next)
      }
      next()
    },
    badResult(_, id) {
      send({ id, result: { content: 'no array' } })
    },
    refuse(_, id) {
      send({ id, error: { code: -32602, message: 'no such thing', data: { hint: 'none', retryable: true } } })
    },
    progress({ steps = [1, 2, 3] }, _, token) {
      for (const progress of steps)
        send({ method: 'notifications/progress', params: { progressToken: token, progress, total: 3 } })
      return 'done'
    },
    late({ after }, id) {
      const answer = () => send({ id, result: text('too late') })
      if (after === 'cancelled') late.push(answer)
      else setTimeout(answer, after)
    },
    async ask({ method, params }) {
      return JSON.stringify(await ask(method, params))
    },
    askLater({ method, params }) {
      void ask(method, params)
      return 'asked'
    },
    takeBack() {
      send({ method: 'notifications/cancelled', params: { requestId: `ask-${asked.size - 1}` } })
      return 'taken back'
    },
    batch(_, id) {
      const news = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' }
      write(`${JSON.stringify([news, { jsonrpc: '2.0', id, result: text('from a batch') }])}\n`)
    },
    tell({ method, params }) {
      send({ method, params })
      return 'told'
    },
    visit({ elicitations, times = 1 }, id) {
      calls += 1
      if (calls > times) return `visited ${calls}`
      send({ id, error: { code: -32042, message: 'visit these first', data: { elicitations } } })
    },
    long({ length }) {
      return 'x'.repeat(length)
    },
  }

  async function take(message) {
    const { id, method, params = {} } = message
    if (method === undefined) return asked.get(id)?.(message)
    say(`got ${method}${params.name === undefined ? '' : ` ${params.name}`}`)
    if (method === 'initialize') return initialize(id)
    if (method === 'server/discover') return discover(id)
    if (method === 'notifications/cancelled') for (const answer of late.splice(0)) answer()
    if (method === 'ping') return send({ id, result: {} })
    if (method === 'tools/list') return send({ id, result: list(params.cursor) })
    if (method === 'custom/endless') return send({ id, result: { tools: [], nextCursor: 'more' } })
    if (method === 'custom/echo') return send({ id, result: { params } })
    if (method === 'logging/setLevel' || method.startsWith('resources/')) {
      say(`told ${method} ${params.level ?? params.uri}`)
      return send({ id, result: {} })
    }
    if (method !== 'tools/call') return
    const tool = tools[params.name]
    if (tool === undefined)
      return send({ id, error: { code: -32602, message: `no tool ${params.name} here` } })
    const answer = await tool(params.arguments ?? {}, id, params._meta?.progressToken)
    if (typeof answer === 'string') send({ id, result: text(answer) })
  }

  function initialize(id) {
    const { init } = options
    if (init === 'hang') return
    if (init === 'die') return exit(7)
    if (init === 'error') return send({ id, error: { code: -32603, message: 'not today' } })
    if (init === 'modern-only') {
      const data = { supported: ['2026-07-28'], requested: '2025-11-25' }
      return send({ id, error: { code: -32022, message: 'Unsupported protocol version', data } })
    }
    if (init === 'junk') return send({ id, result: { protocolVersion: 7 } })
    const serverInfo = { name: 'raw', version: '1' }
    const capabilities = { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} }
    send({ id, result: { protocolVersion: init, capabilities, serverInfo } })
  }

  /** What servers of all kinds say to a client that asks for their era. */
  async function discover(id) {
    const how = options.discover
    probes += 1
    if (how === 'hang') return
    if (how === 'die') return exit(9)
    if (how === 'ping') await ask('ping')
    if (how === 'error' || how === 'ping')
      return send({ id, error: { code: -32601, message: 'Method not found' } })
    const unsupported = { older: ['2025-11-25'], later: ['2027-01-01'], again: ['2026-07-28'] }[how]
    if (unsupported !== undefined && (how !== 'again' || probes === 1)) {
      const data = { supported: unsupported, requested: '2026-07-28' }
      return send({ id, error: { code: -32022, message: 'Unsupported protocol version', data } })
    }
    const capabilities = { tools: { listChanged: true }, resources: { subscribe: true } }
    const supportedVersions = how === 'lone' ? ['2027-01-01'] : ['2026-07-28']
    send({
      id,
      result: { supportedVersions, capabilities, ttlMs: 0, cacheScope: 'private', resultType: 'complete' },
    })
  }

  function ask(method, params) {
    const id = `ask-${asked.size}`
    send({ id, method, params })
    return new Promise((resolve) => asked.set(id, resolve))
  }

  function send(message) {
    write(line(message))
  }

  return (text) => void take(JSON.parse(text))
}

/** Three pages with one tool each; the cursor of the second is the empty string. */
function list(cursor) {
  const page = cursor === undefined ? 0 : cursor === '' ? 1 : 2
  const tool = { name: ['echo', 'hang', 'die'][page], inputSchema: { type: 'object' } }
  return { tools: [tool], ...(page === 2 ? {} : { nextCursor: ['', 'last'][page] }) }
}

export function text(value) {
  return { content: [{ type: 'text', text: value }] }
}

function line(message) {
  return `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`
}
