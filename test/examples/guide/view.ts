import { defineServer, observe, serveHttp, startServer } from 'caduceus'
import { lookAt, observedPrograms, subscribeTransport } from 'caduceus/transports'

const undo = subscribeTransport('listener', ({ type }) => console.log('a listener is', type))
await using _server = await startServer(defineServer({ name: 'shop', version: '1.0.0', tools: [] }), {
  transport: serveHttp(),
  logger: false,
})
const view = await observe({ name: 'guide', port: 0 }) // a page for people, on this machine only
console.log(new URL(view.url ?? '').hostname)

// what `caduceus observe` does: find the programs of this user, and look at one
const here = (await observedPrograms()).find(({ pid }) => pid === process.pid)
console.log(here?.name)
const gone = new AbortController()
await lookAt(
  here?.path ?? '',
  {
    picture: ({ rows }) => {
      console.log(rows.length > 3)
      gone.abort()
    },
    changes: () => {},
  },
  gone.signal,
)
await view.close()
undo()
