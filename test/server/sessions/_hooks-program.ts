import { defineServer, startServer } from 'caduceus/server'
import { serveStdio } from 'caduceus/transports'

const definition = defineServer({
  name: 'hooks',
  version: '1.0.0',
  session: {
    init: ({ session }) => console.error(`init ${session.client.name}`),
    async terminate({ session }, { type }) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      console.error(`terminate ${session.client.name} ${type}`)
    },
  },
})
await startServer(definition, { transport: serveStdio(), logger: false })
