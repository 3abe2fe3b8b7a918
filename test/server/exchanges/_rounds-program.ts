import { defineServer, sealed, startServer } from 'caduceus/server'
import { type Principal, serveHttp, serveStdio } from 'caduceus/transports'
import { parts } from './_rounds-definition.js'

// serves the rounds: `stdio`, or one of several programs behind one address, which have a key in common, and say where
const [kind = '', key = ''] = process.argv.slice(2)
const definition = defineServer({ name: 'rounds', version: '1', ...parts })
if (kind === 'stdio') await startServer(definition, { transport: serveStdio(), logger: false })
else {
  const transport = serveHttp({
    authenticate({ headers: { 'x-principal': text } }) {
      return text === undefined ? 'anonymous' : (JSON.parse(String(text)) as Principal)
    },
  })
  const server = await startServer(definition, { transport, engine: sealed({ keys: [key] }), logger: false })
  process.stdout.write(`${server.url}\n`)
}
