// One of several gateways with the same engine, in front of one server.
import { oauth, startClient } from 'caduceus/client'
import { gateway, redis, startServer } from 'caduceus/server'
import { http, serveHttp } from 'caduceus/transports'

const [, , url = '', mail = '', origin = '', port = '0'] = process.argv
const server = await startServer(
  gateway(
    {
      mail: {
        per: 'principal',
        auth: 'oauth',
        lists: 'shared',
        start: ({ answers, login }) =>
          startClient({ ...answers(), transport: http(mail, { auth: oauth(login()) }), logger: false }),
      },
    },
    { name: 'team', origin },
  ),
  {
    engine: redis({ url, keys: ['what all nodes of these gateways sign with'] }),
    transport: serveHttp({
      port: Number(port),
      authenticate: ({ headers }) => ({
        issuer: 'urn:test',
        subject: String(headers.authorization).replace('Bearer ', ''),
      }),
    }),
    logger: false,
  },
)
console.log(server.url)
