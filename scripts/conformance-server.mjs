// npm run conformance:server -- --port P: the server that the official suite is run against, alone on 127.0.0.1; prints its URL first.
import { runMirrored } from './conformance/run-mirror.mjs'

await runMirrored('server.ts')
