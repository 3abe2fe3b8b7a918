import { http, serveHttp } from 'caduceus/transports'
import { inProcess, transportSuite } from './_suite.js'

const test = transportSuite('Streamable HTTP', (t) =>
  inProcess(t, { serve: ({ port = 0 }) => serveHttp({ port }), connect: (url) => http(url) }),
)

test.run()
