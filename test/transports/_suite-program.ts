import { serveStdio } from '../../transports/stdio/server.js'
import { startSuiteServer } from './_suite-server.js'

await startSuiteServer(serveStdio())
