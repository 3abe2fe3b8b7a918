import { serveStdio } from 'caduceus/transports'
import { startSuiteServer } from './_suite-server.js'

await startSuiteServer(serveStdio())
